internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// The line that `list --format` prints for each entry: a text with names of fields in braces.
struct EntryFormat {
    private enum Part {
        case text(String)
        case field(String)
    }

    /// The names, as in `list --json`.
    static let fields = """
        contentCoding createdAt destination durableBytes etag goneAt inUse key lastModified lastUsedAt \
        pinned ranges receivedBytes resumable state suggestedFilename totalBytes url variant vary
        """.split(separator: " ").map(String.init)

    private var parts: [Part] = []

    /// Parses a format such as `{receivedBytes}\t{url}`; `\t`, `\n` and `\\` stand for a tab, a new line and a backslash.
    ///
    /// - Throws: `ValidationError` with the names if one is unknown.
    static func argument(_ text: String) throws -> EntryFormat {
        var format = EntryFormat()
        var rest = text[...]
        while let brace = rest.firstIndex(of: "{") {
            let field = String(rest[brace...].dropFirst().prefix { $0 != "}" })
            guard let end = rest[brace...].firstIndex(of: "}"), fields.contains(field) else {
                throw ValidationError("use names in braces, such as {url}; they are \(fields.joined(separator: ", "))")
            }
            format.parts += [.text(unescaped(rest[..<brace])), .field(field)]
            rest = rest[rest.index(after: end)...]
        }
        format.parts.append(.text(unescaped(rest)))
        return format
    }

    private static func unescaped(_ text: Substring) -> String {
        String(text).replacing(/\\[tn\\]/) { $0.output == "\\t" ? "\t" : $0.output == "\\n" ? "\n" : "\\" }
    }

    /// Returns the line of an entry; a field without a value is empty.
    func line(for entry: Entry) -> String {
        let members = Rendering.json(entry)
        return parts.map { part in
            switch part {
            case .text(let text): return text
            case .field(let name):
                let value = members[name] ?? nil
                return (value as? String).map(Printable.escaped) ?? value?.json ?? ""
            }
        }.joined()
    }
}
