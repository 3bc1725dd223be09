package import HTTPTypes

extension HTTPFields {
    /// The file name that a response suggests in its `Content-Disposition` (RFC 6266), without anything that could make
    /// it more than a name in one folder; nil where there is none.
    ///
    /// What stands before the last slash of either kind goes, as do dots in front, which would hide the file; `filename*`
    /// is believed before `filename`.
    package var suggestedFilename: String? {
        guard let value = self[.contentDisposition] else { return nil }
        let parameters = Self.parameters(of: value)
        let extended = parameters.first { $0.name == "filename*" }.flatMap { Self.decoded($0.value) }
        return (extended ?? parameters.first { $0.name == "filename" }?.value).flatMap(Self.harmless)
    }

    /// The parameters behind the disposition's type, their names in lower case.
    private static func parameters(of value: String) -> [(name: String, value: String)] {
        var rest = value[...].drop { $0 != ";" }
        var parameters: [(name: String, value: String)] = []
        while rest.popFirst() != nil {
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest[name.endIndex...]
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            let value: String
            if rest.first == "\"" {
                value = quoted(&rest)
            } else {
                value = String(rest.prefix { $0 != ";" }).trimmed
            }
            rest = rest.drop { $0 != ";" }
            parameters.append((String(name).trimmed.lowercased(), value))
        }
        return parameters
    }

    /// Reads a quoted string, up to its end or that of the field.
    private static func quoted(_ rest: inout Substring) -> String {
        rest.removeFirst()
        var text = ""
        while let character = rest.popFirst(), character != "\"" {
            text.append(character == "\\" ? rest.popFirst() ?? character : character)
        }
        return text
    }

    /// Decodes a value such as `UTF-8''a%20b` (RFC 8187); nil where it is not one.
    private static func decoded(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
        return DownloadURL.percentDecoded(String(parts[2]))
    }

    private static func harmless(_ text: String) -> String? {
        // By scalars: a mark that follows on a slash makes one character with it.
        let scalars = text.unicodeScalars
        let start = scalars.lastIndex { $0 == "/" || $0 == "\\" }.map { scalars.index(after: $0) }
        let name = String(scalars[(start ?? scalars.startIndex)...].drop { $0 == "." || $0 == " " }).trimmed
        guard !name.isEmpty, name.utf8.count <= 200, Printable.escaped(name) == name else { return nil }
        return name
    }
}

extension String {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmed: String {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
