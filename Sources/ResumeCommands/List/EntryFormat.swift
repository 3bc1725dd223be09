import ArgumentParser
import ResumeHTTP
import ResumeStore

extension ListCommand {
    /// The line that `list --format` prints for each entry: a text with names of fields in braces.
    struct Format {
        /// The names, as in `list --json`.
        static let fields = """
            contentCoding createdAt destination durableBytes etag goneAt inUse key lastModified lastUsedAt \
            pinned ranges receivedBytes resumable state suggestedFilename totalBytes url variant vary
            """.pieces(at: " ")

        /// The text before the first field.
        private let start: String
        private let parts: [(field: String, text: String)]

        /// Parses a format such as `{receivedBytes}\t{url}`; `\t`, `\n` and `\\` stand for a tab, a new line and a backslash.
        ///
        /// - Throws: `ValidationError` with the names if one is unknown.
        static func argument(_ text: String) throws -> Format {
            let pieces = text.parts(at: "{")
            let parts = try pieces.dropFirst().map { piece in
                let field = String(piece.prefix { $0 != "}" })
                guard field.count < piece.count, fields.contains(field) else {
                    throw ValidationError(sentence("format-names", fields.joined(separator: ", ")))
                }
                return (field, unescaped(piece.dropFirst(field.count + 1)))
            }
            return Format(start: unescaped(pieces[0]), parts: parts)
        }

        private static func unescaped(_ text: Substring) -> String {
            String(text).replacing(/\\[tn\\]/) { escape in
                switch escape.output.last {
                case "t": "\t"
                case "n": "\n"
                default: "\\"
                }
            }
        }

        /// Returns the line of an entry; a field without a value is empty.
        func line(for entry: Entry) -> String {
            let members = Rendering.json(entry)
            return parts.reduce(into: start) { line, part in
                let value = members[part.field] ?? nil
                line += (value as? String).map(Printable.escaped) ?? value?.json ?? ""
                line += part.text
            }
        }
    }
}
