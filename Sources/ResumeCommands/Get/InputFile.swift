internal import ResumeFiles
internal import ResumeHTTP

/// A list of URLs in a file named on the command line, or on standard input.
enum InputFile {
    /// A line that is neither empty nor a comment.
    struct Line {
        /// nil if the line is not in UTF-8.
        var text: String?
        var number: Int
    }

    /// The maximum length of a line in bytes; a file with longer ones is not a list.
    private static let longestLine = 1 << 20

    /// Reads all lines; the file may be a pipe, such as a shell's `<(…)`.
    ///
    /// - Parameter path: The file; `-` for standard input.
    /// - Returns: The lines without surrounding white space.
    /// - Throws: ``CommandFailure`` if it cannot be read or has too long lines.
    static func lines(of path: String) throws -> [Line] {
        let shown = Printable.escaped(path)
        guard let file = unsafe fopen(path == "-" ? "/dev/stdin" : path, "r") else {
            throw CommandFailure(.notFound, "cannot read \(shown)")
        }
        defer { unsafe _ = fclose(file) }
        var lines: [Line] = []
        var number = 1
        var rest: [UInt8] = []
        func take(_ bytes: some Collection<UInt8>) {
            defer { number += 1 }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                return lines.append(Line(text: nil, number: number))
            }
            // Some editors start a text with a byte order mark.
            let hasMark = number == 1 && text.unicodeScalars.first == "\u{FEFF}"
            let line = trimmed(hasMark ? text.unicodeScalars.dropFirst() : text.unicodeScalars[...])
            if !line.isEmpty, line.utf8.first != UInt8(ascii: "#") { lines.append(Line(text: line, number: number)) }
        }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            rest += buffer.prefix(count)
            var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let last = parts.removeLast()
            for line in parts { take(line) }
            guard last.count <= longestLine else {
                throw CommandFailure(.usage, "\(shown), line \(number): too long for a URL")
            }
            rest = Array(last)
        }
        guard unsafe ferror(file) == 0 else { throw CommandFailure(.notFound, "cannot read \(shown)") }
        take(rest)
        return lines
    }

    private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
        var scalars = text
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        return String(Substring(scalars))
    }
}
