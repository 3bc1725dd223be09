/// Percent-encoded bytes in URLs and fields (RFC 3986, 2.1).
package enum PercentEncoding {
    /// Replaces `%XX` by the bytes they stand for; nil where the result is not UTF-8 or a `%` stands alone.
    static func decoded(_ text: String) -> String? {
        guard text.utf8.contains(.percent) else { return text }
        return bytes(of: text).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the bytes that a text stands for; nil if a `%` stands alone.
    static func bytes(of text: String) -> [UInt8]? {
        let bytes = decoded(Array(text.utf8))
        // Two digits for each `%`.
        return text.utf8.count - bytes.count == 2 * text.utf8.count(where: { $0 == .percent }) ? bytes : nil
    }

    /// Replaces `%XX` by the characters of a name that they stand for, and keeps it where that is not one: a slash,
    /// a control character, and all bytes outside ASCII if they are not UTF-8.
    static func decodedName(_ text: String) -> String {
        let bytes = decoded(Array(text.utf8))
        if bytes.allSatisfy({ 0x20...0x7E ~= $0 && $0 != .slash }) { return String(decoding: bytes, as: UTF8.self) }
        let name = String(validating: bytes, as: UTF8.self) ?? encoded(bytes) { $0 >= 0x80 }
        return name.unicodeScalars.reduce(into: "") { name, scalar in
            let character = String(scalar)
            name += character == "/" || Printable.escaped(character) != character ? encoded(character.utf8) : character
        }
    }

    /// Replaces `%XX` by the bytes they stand for; a `%` that is not followed by two digits is kept.
    static func decoded(_ text: [UInt8]) -> [UInt8] {
        guard text.contains(.percent) else { return text }
        var bytes = [UInt8]()
        var rest = text[...]
        while let byte = rest.popFirst() {
            let digits = byte == .percent ? rest.prefix(2).compactMap(Hexadecimal.digit) : []
            if digits.count == 2 { rest = rest.dropFirst(2) }
            bytes.append(digits.count == 2 ? digits[0] << 4 | digits[1] : byte)
        }
        return bytes
    }

    /// Encodes some bytes, which must include all outside ASCII; all of them by default.
    package static func encoded(
        _ bytes: some Sequence<UInt8>, where isEncoded: (UInt8) -> Bool = { _ in true }
    ) -> String {
        bytes.reduce(into: "") { text, byte in
            text += isEncoded(byte) ? "%\(Hexadecimal.text([byte]).uppercased())" : String(Unicode.Scalar(byte))
        }
    }

    /// Encodes the blanks of a field's value, and all bytes outside ASCII if they are not UTF-8.
    static func encodingRaw(_ bytes: [UInt8]) -> String {
        let text = String(validating: bytes, as: UTF8.self)
        guard text == nil || bytes.contains(0x20) else { return text ?? "" }
        return encoded(bytes) { $0 == 0x20 || $0 >= 0x80 }
    }

    /// Encodes what a URL must not contain after its authority, and keeps what is encoded already.
    ///
    /// Foundation encodes such a URL as a whole, so that `%20` becomes `%2520` if another character is not allowed.
    ///
    /// - Parameter text: An absolute URL, or a reference to another one.
    /// - Returns: The text, encoded where necessary.
    static func encodingInvalid(_ text: String) -> String {
        let start = authorityEnd(of: text.unicodeScalars)
        guard !text.utf8[start...].allSatisfy(isAllowed) else { return text }
        let pieces = text.utf8[start...].parts(at: .percent).map { piece in
            // Control characters are refused later.
            encoded(piece) { !isAllowed($0) && $0 > 0x20 && $0 != 0x7F }
        }
        return pieces.dropFirst().reduce(text[..<start] + pieces[0]) { result, piece in
            let isEncoded = piece.utf8.prefix(2).compactMap(Hexadecimal.digit).count == 2
            return result + (isEncoded ? "%" : "%25") + piece
        }
    }

    private static func authorityEnd(of text: String.UnicodeScalarView) -> String.Index {
        let isBorder = { (scalar: Unicode.Scalar) in scalar == "/" || scalar == "?" || scalar == "#" }
        guard let first = text.firstIndex(where: isBorder), text[first...].starts(with: "//".unicodeScalars) else {
            return text.startIndex
        }
        return text[first...].dropFirst(2).firstIndex(where: isBorder) ?? text.endIndex
    }

    /// Whether a byte may stand in a path, a query or a fragment (RFC 3986, appendix A).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch Unicode.Scalar(byte) {
        case "a"..."z", "?"..."Z", "&"...";", "!", "#", "$", "=", "_", "~": true
        default: false
        }
    }
}
