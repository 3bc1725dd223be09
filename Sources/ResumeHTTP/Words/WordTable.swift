/// Texts about words, from a file with lines such as `word other: text`.
package struct WordTable: Sendable {
    private var texts: [String: String] = [:]

    /// Reads the lines of a file.
    package init(_ file: [UInt8]) {
        for line in String(decoding: file, as: UTF8.self).pieces(at: "\n") {
            // By bytes, as below.
            let words = line.utf8.prefix { $0 != .colon }
            for word in words.split(separator: .space) {
                texts[String(Substring(word))] = String(Substring(line.utf8.dropFirst(words.count + ": ".count)))
            }
        }
    }

    /// The text about a word; nil if there is none.
    package subscript(word: String) -> String? { texts[word] }

    private static let lists = WordTable(PackageResources.words_txt)

    /// Returns the words of a list, which is a line of `words.txt`.
    package static func words(_ list: String) -> Set<String> {
        guard let words = lists[list] else { preconditionFailure("words.txt has no list \(list)") }
        return Set(words.pieces(at: " "))
    }

    private static let reasons = WordTable(PackageResources.reasons_txt)

    /// Returns a line of `reasons.txt` with its values, and the advice that it may have.
    static func texts(of name: String, _ values: [any CustomStringConvertible]) -> [String] {
        var values = values[...]
        let line = reasons[name] ?? name
        // By bytes, since each file has such a text. Split before the values are put in: a path may contain the marks.
        return (line.utf8.contains(UInt8(ascii: "|")) ? line.pieces(at: " || ") : [line]).map { text in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(256)
            for byte in text.utf8 {
                if byte != .percent {
                    bytes.append(byte)
                } else if let value = values.popFirst() {
                    bytes += value.description.utf8
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

/// Returns a text of `reasons.txt` that is no reason by itself; each `%` there stands for a value.
package func sentence(_ name: String, _ values: any CustomStringConvertible...) -> String {
    WordTable.texts(of: name, values).first ?? ""
}

extension String {
    /// Splits at a text and leaves out what is empty, by bytes: comparing characters would take half of the time in which
    /// a command starts.
    package func pieces(at separator: String, most: Int = .max) -> [String] {
        let text = Array(utf8)
        let mark = Array(separator.utf8)
        var pieces: [String] = []
        var start = 0
        var end = 0
        while end + mark.count <= text.count, pieces.count < most {
            if text[end] == mark[0], text[end..<end + mark.count].elementsEqual(mark) {
                if end > start { pieces.append(String(decoding: text[start..<end], as: UTF8.self)) }
                end += mark.count
                start = end
            } else {
                end += 1
            }
        }
        return start < text.count ? pieces + [String(decoding: text[start...], as: UTF8.self)] : pieces
    }
}
