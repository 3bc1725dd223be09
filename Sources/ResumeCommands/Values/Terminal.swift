/// Text that has to fit a line of a terminal.
enum Terminal {
    /// Returns how many columns a text takes up; ideographs and emoji take up two each, combining marks none.
    static func columns(_ text: some StringProtocol) -> Int {
        // Bytes of ASCII text are characters of one column each.
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { $0 + columns($1) }
    }

    /// Returns how many rows a text takes up in a terminal that wraps it.
    static func rows(_ text: String, width: Int) -> Int {
        guard columns(text) > width else { return 1 }
        var rows = 1
        var column = 0
        for scalar in text.unicodeScalars {
            let columns = columns(scalar)
            // A wide character is not split.
            if column + columns > width, column > 0 { (rows, column) = (rows + 1, 0) }
            column += columns
        }
        return rows
    }

    /// Returns a text with its middle left out, if it is wider than a number of columns.
    static func shortened(_ text: String, to width: Int) -> String {
        guard columns(text) > width, width > 1 else { return cut(text, to: width) }
        // The end of a URL is its file name, and more important than the beginning.
        let room = width - 1
        let end = fitting(text.reversed(), room - room / 2)
        return String(fitting(text, room / 2)) + "…" + String(end.reversed())
    }

    /// Returns a text with its end left out, if it is wider than a number of columns; only its first word is broken.
    static func cut(_ text: String, to width: Int) -> String {
        guard columns(text) > width else { return text }
        guard width > 0 else { return "" }
        let start = fitting(text, width - 1)
        let isWord = text.dropFirst(start.count).first == " "
        let whole = isWord ? start.count : start.lastIndex(of: " ") ?? start.count
        let end = start[..<whole].lastIndex { !" ,;:".contains($0) }
        return String(start[...(end ?? whole - 1)]) + "…"
    }

    /// Returns a text whose longer lines are broken between words; the same text if there is no width.
    ///
    /// Further rows begin below the text of the first one, after its indentation or its first column. A command in single
    /// quotes is not broken, so that it can be copied; the terminal breaks it if it does not fit.
    static func wrapped(_ text: String, to width: Int?) -> String {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let width, lines.contains(where: { columns($0) > width }) else { return text }
        return lines.map { columns($0) > width ? broken($0, width) : String($0) }.joined(separator: "\n")
    }

    private static func broken(_ line: Substring, _ width: Int) -> String {
        let indentation = String(line.prefix { $0 == " " })
        let column = line.firstMatch(of: /^ *\S.*?  +/).map { columns($0.0) } ?? 0
        let start = column > 0 && column <= width / 2 ? String(repeating: " ", count: column) : indentation
        var rows = [""]
        // Each word with the spaces before it.
        for word in line.matches(of: /\ *(?:'[^']*'[^ ]*|[^ ]+)/).map(\.0) {
            let row = rows[rows.count - 1] + word
            if columns(row) <= width || rows[rows.count - 1].allSatisfy({ $0 == " " }) {
                rows[rows.count - 1] = row
            } else {
                let next = word.drop { $0 == " " }
                rows.append(String(start.prefix(max(width - columns(next), 0))) + next)
            }
        }
        return rows.joined(separator: "\n")
    }

    /// Returns a text with spaces after it, up to a number of columns.
    static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(width - columns(text), 0))
    }

    /// Returns a text of exactly a number of columns, shortened or with spaces after it.
    static func fitted(_ text: String, to width: Int) -> String { padded(shortened(text, to: width), to: width) }

    /// Returns as many of the first characters as fit.
    private static func fitting(_ characters: some Sequence<Character>, _ width: Int) -> [Character] {
        var left = width
        var result: [Character] = []
        for character in characters {
            left -= columns(String(character))
            guard left >= 0 else { break }
            result.append(character)
        }
        return result
    }

    /// Terminals add up the widths of the code points of a character.
    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        // In some terminals, the selector of the emoji form makes a narrow character wide.
        if scalar.value == 0xFE0F { return 1 }
        if wide.contains(where: { $0.contains(scalar.value) }) || scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        // Vowels and final consonants join the consonant before them.
        default: return (0x1160...0x11FF).contains(scalar.value) ? 0 : 1
        }
    }

    /// East Asian wide characters and emoji, in blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
        0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    /// The size of a terminal in characters.
    struct Size: Hashable {
        /// The number of columns.
        var width: Int
        /// The number of rows.
        var height: Int

        /// The size of a terminal that does not tell its size.
        static let standard = Size(width: 80, height: 24)
    }
}
