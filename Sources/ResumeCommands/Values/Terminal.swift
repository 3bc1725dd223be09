/// Text that has to fit a line of a terminal.
enum Terminal {
    /// Returns how many columns a text takes up; ideographs and emoji take up two each.
    static func columns(_ text: String) -> Int { text.reduce(0) { $0 + columns($1) } }

    /// Returns a text with its middle left out, if it is wider than a number of columns.
    static func shortened(_ text: String, to width: Int) -> String {
        guard columns(text) > width, width > 1 else { return text }
        // The end of a URL is its file name, and more important than the beginning.
        let room = width - 1
        let end = fitting(text.reversed(), room - room / 2)
        return String(fitting(text, room / 2)) + "…" + String(end.reversed())
    }

    /// Returns as many of the first characters as fit.
    private static func fitting(_ characters: some Sequence<Character>, _ width: Int) -> [Character] {
        var left = width
        var result: [Character] = []
        for character in characters {
            left -= columns(character)
            guard left >= 0 else { break }
            result.append(character)
        }
        return result
    }

    private static func columns(_ character: Character) -> Int {
        character.unicodeScalars.contains { scalar in wide.contains { $0.contains(scalar.value) } } ? 2 : 1
    }

    /// East Asian wide characters and emoji, in blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]
}
