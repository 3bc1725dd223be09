/// A Swift source for simple checks: without its comments, and its string literals alone.
struct SwiftSource {
    /// The source without comments.
    let code: String
    /// The text between the quotes of each string literal, as written.
    let literals: [String]

    /// Reads a source.
    init(_ text: String) {
        var reader = Reader(bytes: Array(text.utf8))
        while reader.position < reader.bytes.count { reader.step() }
        code = String(decoding: reader.code, as: UTF8.self)
        literals = reader.literals
    }

    /// Works on bytes: a source has many, and this runs in debug builds.
    private struct Reader {
        let bytes: [UInt8]
        var position = 0
        var code: [UInt8] = []
        var literals: [String] = []

        private static let (slash, star, quote, hash) = (
            UInt8(ascii: "/"), UInt8(ascii: "*"), UInt8(ascii: "\""), UInt8(ascii: "#")
        )

        init(bytes: [UInt8]) { self.bytes = bytes }

        private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

        /// The number of repetitions of a byte starting at an index.
        private func count(of byte: UInt8, from start: Int) -> Int {
            var end = start
            while end < bytes.count, bytes[end] == byte { end += 1 }
            return end - start
        }

        mutating func step() {
            switch (byte(position), byte(position + 1)) {
            case (Self.slash, Self.slash):
                while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
            case (Self.slash, Self.star):
                skipComment()
            case (Self.quote, _), (Self.hash, _):
                takeLiteral()
            default:
                code.append(bytes[position])
                position += 1
            }
        }

        /// Comments of this kind may be nested.
        private mutating func skipComment() {
            var depth = 0
            repeat {
                switch (byte(position), byte(position + 1)) {
                case (Self.slash, Self.star): (depth, position) = (depth + 1, position + 2)
                case (Self.star, Self.slash): (depth, position) = (depth - 1, position + 2)
                default: position += 1
                }
            } while depth > 0 && position < bytes.count
        }

        private mutating func takeLiteral() {
            let start = position
            let hashes = count(of: Self.hash, from: start)
            let found = count(of: Self.quote, from: start + hashes)
            // `#if`, for example, begins none.
            guard found > 0 else {
                code += bytes[start..<start + hashes]
                position += hashes
                return
            }
            let quotes = found >= 3 ? 3 : 1
            let first = start + hashes + quotes
            var end = first
            while end < bytes.count {
                if count(of: Self.quote, from: end) >= quotes, count(of: Self.hash, from: end + quotes) >= hashes {
                    break
                }
                // A quote after a backslash does not end it.
                end += hashes == 0 && bytes[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            end = min(end, bytes.count)
            literals.append(String(decoding: bytes[min(first, end)..<end], as: UTF8.self))
            position = min(end + quotes + hashes, bytes.count)
            code += bytes[start..<position]
        }
    }
}
