internal import ResumeHTTP

/// A command line of bash up to the cursor.
///
/// Bash splits words at `:` and `=`, which are parts of URLs, and replaces only what follows the last of them. All is
/// compared by scalars, since a combining mark behind a quote hides it from Swift's characters, but not from a shell.
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
    /// The number of scalars of the last word that bash does not replace.
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
        kept = BashLine(String(line[start...].dropLast(replaced.count))).words.last?.unicodeScalars.count ?? 0
    }

    private init(_ line: String) {
        let scalars = line.unicodeScalars
        var word = String.UnicodeScalarView()
        var index = scalars.startIndex
        while index < scalars.endIndex {
            let scalar = scalars[index]
            let next = scalars.index(after: index)
            if quote == .none, " \t\n".unicodeScalars.contains(scalar) {
                if start != nil { words.append(String(word)) }
                (word, start, index) = ("".unicodeScalars, nil, next)
                continue
            }
            start = start ?? index
            index = next
            switch (quote, scalar) {
            case (.none, "'"): quote = .single
            case (.none, "\""): quote = .double
            case (.single, "'"), (.double, "\""): quote = .none
            case (.none, "\\"), (.double, "\\"):
                guard next < scalars.endIndex else { break }
                // Inside double quotes, a backslash stays before most characters.
                if quote == .double, !Self.activeInQuotes.contains(scalars[next]) { word.append("\\") }
                word.append(scalars[next])
                index = scalars.index(after: next)
            default: word.append(scalar)
            }
        }
        words.append(String(word))
    }

    private static let activeInQuotes = "$`\"\\".unicodeScalars

    /// Returns what bash inserts for a word.
    func inserted(_ text: String) -> String {
        let scalars = text.unicodeScalars.dropFirst(kept)
        return scalars.reduce(into: "") { result, scalar in
            switch quote {
            case .single: result += scalar == "'" ? #"'\''"# : "\(scalar)"
            // A backslash does not hide it from the history inside double quotes.
            case .double where scalar == "!": result += #""\!""#
            case .double: result += Self.activeInQuotes.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
            case .none: result += ShellWord.quoted(scalar)
            }
        }
    }
}
