/// The lines at the bottom of a terminal that are replaced again and again, with ordinary lines scrolling up above them.
///
/// A value that returns the text to write. The cursor stays at the beginning of the row below the last line, so that
/// whatever is printed after the end of the process begins on a row without other text.
struct TerminalFrame {
    /// Clears the screen below the cursor.
    private static let clearing = "\u{1B}[J"

    /// The lines that are on the screen.
    private var drawn: [String] = []

    /// Returns the text that replaces the lines.
    ///
    /// - Parameters:
    ///   - lines: The new lines, none of which is wider than the terminal.
    ///   - messages: Ordinary lines to print above them.
    ///   - width: The width of the terminal, which may have changed.
    /// - Returns: The text; empty if there is nothing to do.
    mutating func replace(with lines: [String], after messages: [String] = [], width: Int) -> String {
        guard !drawn.isEmpty || !lines.isEmpty || !messages.isEmpty else { return "" }
        // A terminal that has become narrower has wrapped the lines. If it has become wider again before it told its
        // width, or has moved the cursor, lines above them are lost; fewer rows would leave wrapped lines each time.
        let rows = drawn.reduce(0) { $0 + Terminal.rows($1, width: width) }
        drawn = lines
        // Rows are overwritten before their rest is cleared, so that nothing flickers. An ordinary line may wrap, and
        // then it would leave the rest of what was there.
        var frame = "\r"
        if rows > 0 {
            frame += "\u{1B}[\(rows)A"
            if !messages.isEmpty { frame += Self.clearing }
        }
        for message in messages { frame += "\(message)\n" }
        for line in lines { frame += "\(line)\u{1B}[K\n" }
        return frame + Self.clearing
    }
}
