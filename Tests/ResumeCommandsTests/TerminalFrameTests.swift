@testable import ResumeCommands
import TestSupport
import Testing

/// The lines that are replaced at the bottom of a terminal, in a model of a terminal that wraps lines anew when its
/// width changes.
@Suite(.timeLimit(.minutes(20)))
struct TerminalFrameTests {
    /// The text in a terminal: logical lines, which are wrapped at its width.
    private struct Screen {
        var width: Int
        /// Without wrapping, and with the cursor in the last one or above it, always in the first column.
        var lines = [""]
        var cursor = 0
        /// The number of characters before the cursor in its line.
        var column = 0

        /// The number of rows of a line, counted one character at a time.
        private func rows(_ line: String) -> Int {
            var (rows, column) = (1, 0)
            for character in line {
                let columns = "映画".contains(character) ? 2 : 1
                if column + columns > width { (rows, column) = (rows + 1, 0) }
                column += columns
            }
            return rows
        }

        mutating func write(_ text: String) {
            var rest = Substring(text)
            while let first = rest.first {
                // Reading the regular expression takes long.
                if first == "\u{1B}", let match = rest.prefixMatch(of: /\e\[(\d*)([AJK])/) {
                    rest = rest[match.range.upperBound...]
                    switch match.2 {
                    case "A": up(Int(match.1) ?? 1)
                    case "J":
                        lines.removeSubrange((cursor + 1)...)
                        if column == 0 { lines[cursor] = "" }
                    default: lines[cursor] = String(lines[cursor].prefix(column))
                    }
                    continue
                }
                rest = rest.dropFirst()
                switch first {
                case "\r": column = 0
                case "\n":
                    cursor += 1
                    if cursor == lines.count { lines.append("") }
                    column = 0
                default:
                    let line = lines[cursor]
                    lines[cursor] = String(line.prefix(column)) + String(first) + String(line.dropFirst(column + 1))
                    column += 1
                }
            }
        }

        private mutating func up(_ count: Int) {
            var left = count
            while left > 0, cursor > 0 {
                cursor -= 1
                left -= rows(lines[cursor])
            }
            if left != 0 { lines[cursor] = "the cursor is in the middle of a line" }
        }
    }

    @Test("Whatever is printed and however the width changes, nothing of earlier lines remains", arguments: 0..<200)
    func random(seed: UInt64) {
        var numbers = SplitMix64(seed: seed)
        var screen = Screen(width: 40)
        var frame = TerminalFrame()
        var messages: [String] = []
        var lines: [String] = []
        screen.write(frame.replace(with: [], width: 40))
        for step in 0..<60 {
            if Int.random(in: 0..<4, using: &numbers) == 0 { screen.width = Int.random(in: 2...90, using: &numbers) }
            let new = (0..<Int.random(in: 0...3, using: &numbers)).map {
                "\(step).\($0) " + String(repeating: "m", count: Int.random(in: 0...100, using: &numbers))
            }
            lines = (0..<Int.random(in: 0...6, using: &numbers)).map { _ in
                let text = String(repeating: Bool.random(using: &numbers) ? "映" : "x", count: 90)
                return Terminal.cut(text, to: Int.random(in: 1..<screen.width, using: &numbers))
            }
            messages += new
            screen.write(frame.replace(with: lines, after: new, width: screen.width))
            #expect(screen.lines == messages + lines + [""], "step \(step), seed \(seed)")
            #expect(screen.cursor == screen.lines.count - 1)
        }
    }

    @Test("Without lines before and after, nothing is written")
    func nothing() {
        var frame = TerminalFrame()
        #expect(frame.replace(with: [], width: 80) == "")
        #expect(frame.replace(with: ["a"], width: 80) == "\ra\u{1B}[K\n\u{1B}[J")
        #expect(frame.replace(with: ["b"], width: 80) == "\r\u{1B}[1Ab\u{1B}[K\n\u{1B}[J")
        #expect(frame.replace(with: [], width: 80) == "\r\u{1B}[1A\u{1B}[J")
        #expect(frame.replace(with: [], width: 80) == "")
    }

    @Test(
        "Columns of text",
        arguments: [
            ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("\u{301}", 0), ("映画", 4), ("한", 2),
            ("\u{1112}\u{1161}\u{11AB}", 2),
            ("🚀", 2), ("⌚", 2), ("…", 1), ("क्ष", 2), ("ｶﾞ", 2), ("Ａ", 2), ("❤\u{FE0F}", 2),
        ])
    func columns(text: String, columns: Int) {
        #expect(Terminal.columns(text) == columns)
        for width in 0...5 {
            #expect(Terminal.columns(Terminal.cut(text, to: width)) <= width)
            #expect(Terminal.columns(Terminal.shortened(text, to: width)) <= width)
            #expect(Terminal.columns(Terminal.padded(text, to: width)) == max(width, columns))
        }
        #expect(Terminal.rows(text, width: max(columns, 1)) == 1)
    }
}
