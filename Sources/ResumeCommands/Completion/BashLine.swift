/// A command line of bash up to the cursor.
///
/// Bash splits words at `:` and `=`, which are parts of URLs, and replaces only what follows the last of them.
struct BashLine {
    /// How the end of a line is quoted.
    private enum Quote {
        case none, single, double
    }

    /// The words without quotes and backslashes, the program's name first.
    private(set) var words: [String] = []
    /// Where the last word begins; nil if it is empty.
    private var start: String.Index?
    private var quote = Quote.none
    /// The number of characters of the last word that bash does not replace.
    private var kept = 0

    /// Splits a line.
    ///
    /// - Parameters:
    ///   - line: The line up to the cursor.
    ///   - replaced: The end of the line that bash replaces.
    init(_ line: String, replacing replaced: String) {
        self.init(line)
        // A variable that is set for the program comes before its name.
        words.removeFirst(words.dropLast().prefix { $0.contains("=") }.count)
        guard let start, line[start...].hasSuffix(replaced) else { return }
        kept = BashLine(String(line[start...].dropLast(replaced.count))).words.last?.count ?? 0
    }

    private init(_ line: String) {
        var word = ""
        var index = line.startIndex
        while index < line.endIndex {
            let character = line[index]
            let next = line.index(after: index)
            if quote == .none, " \t\n".contains(character) {
                if start != nil { words.append(word) }
                (word, start, index) = ("", nil, next)
                continue
            }
            start = start ?? index
            index = next
            switch (quote, character) {
            case (.none, "'"): quote = .single
            case (.none, "\""): quote = .double
            case (.single, "'"), (.double, "\""): quote = .none
            case (.none, "\\"), (.double, "\\"):
                guard next < line.endIndex else { break }
                // Inside double quotes, a backslash stays before most characters.
                if quote == .double, !"$`\"\\".contains(line[next]) { word.append("\\") }
                word.append(line[next])
                index = line.index(after: next)
            default: word.append(character)
            }
        }
        words.append(word)
    }

    /// Returns what bash inserts for a word.
    func inserted(_ text: String) -> String {
        let text = String(text.dropFirst(kept))
        return switch quote {
        case .single: text.replacing("'", with: #"'\''"#)
        case .double: text.reduce(into: "") { $0 += "$`\"\\".contains($1) ? "\\\($1)" : "\($1)" }
        case .none:
            text.reduce(into: "") { result, character in
                let isPlain = character.isLetter || character.isNumber || "-_./:=@%+,^".contains(character)
                result += isPlain ? "\(character)" : "\\\(character)"
            }
        }
    }
}
