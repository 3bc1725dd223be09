import ResumeHTTP

extension CompletionAnswer {
    /// A command line of bash up to the cursor.
    ///
    /// Bash splits words at `:` and `=`, which are parts of URLs, and replaces only what follows the last of them. All is
    /// compared by scalars, since a combining mark behind a quote hides it from Swift's characters, but not from a shell.
    struct Line {
        /// The words without quotes and backslashes, the program's name first.
        private(set) var words: [String] = []
        /// The quote that is open at the end.
        private var quote: Unicode.Scalar?
        /// The number of scalars of the last word that bash does not replace.
        private var kept = 0

        /// Splits a line.
        ///
        /// - Parameters:
        ///   - line: The line up to the cursor.
        ///   - replaced: The end of the line that bash replaces.
        init(_ line: String, replacing replaced: String) {
            let scalars = Array(line.unicodeScalars)
            let start = scalars.count - replaced.unicodeScalars.count
            var word = String.UnicodeScalarView()
            var isBegun = false
            var isEscaped = false
            for (index, scalar) in scalars.enumerated() {
                if quote == nil, !isEscaped, " \t\n".unicodeScalars.contains(scalar) {
                    if isBegun { words.append(String(word)) }
                    word = "".unicodeScalars
                    isBegun = false
                    kept = 0
                    continue
                }
                if index == start { kept = word.count }
                isBegun = true
                if isEscaped {
                    // Inside double quotes, a backslash stays before most characters.
                    if quote != nil, !Self.activeInQuotes.contains(scalar) { word.append("\\") }
                    word.append(scalar)
                    isEscaped = false
                } else if scalar == "\\", quote != "'" {
                    isEscaped = true
                } else if scalar == quote {
                    quote = nil
                } else if quote == nil, scalar == "'" || scalar == "\"" {
                    quote = scalar
                } else {
                    word.append(scalar)
                }
            }
            if start == scalars.count { kept = word.count }
            words.append(String(word))
            // A variable that is set for the program comes before its name.
            words.removeFirst(words.dropLast().prefix { $0.contains("=") }.count)
        }

        private static let activeInQuotes = "$`\"\\".unicodeScalars

        /// Returns what bash inserts for a word.
        func inserted(_ text: String) -> String {
            text.unicodeScalars.dropFirst(kept).reduce(into: "") { result, scalar in
                switch quote {
                case "'": result += scalar == "'" ? #"'\''"# : "\(scalar)"
                // A backslash does not hide it from the history inside double quotes.
                case "\"" where scalar == "!": result += #""\!""#
                case "\"": result += Self.activeInQuotes.contains(scalar) ? "\\\(scalar)" : "\(scalar)"
                default: result += ShellWord.quoted(scalar)
                }
            }
        }
    }
}
