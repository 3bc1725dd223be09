import HTTPTypes

extension HTTPFields {
    /// Returns the bytes of a field that may occur only once.
    ///
    /// - Returns: nil if it is absent, or if several lines have different values, of which none is used (RFC 9110, 5.3).
    func single(_ name: HTTPField.Name?) -> [UInt8]? {
        // Most fields are absent, and this is the fastest way to find out.
        guard let name, contains(name) else { return nil }
        let lines = self[fields: name].map { field in
            unsafe field.withUnsafeBytesOfValue { value in unsafe Array(value.trimmed) }
        }
        return lines.allSatisfy { $0 == lines[0] } ? lines[0] : nil
    }

    /// Returns the text of a field that may occur only once; nil also if it is not UTF-8.
    func text(_ name: HTTPField.Name?) -> String? {
        guard let name, case let values = self[values: name], let value = values.first else { return nil }
        let bytes = value.utf8
        // Almost always it is ASCII on one line, without spaces around it.
        guard values.count == 1, bytes.allSatisfy({ $0 < 0x80 }), bytes.first ?? 0x21 > 0x20, bytes.last ?? 0x21 > 0x20
        else { return single(name).flatMap { String(validating: $0, as: UTF8.self) } }
        return value
    }

    /// Splits a list on one or several lines, in lower case; nil if it is unreasonably long.
    func list(_ name: HTTPField.Name, longest: Int = .max) -> [String]? {
        let lines = self[values: name]
        guard lines.reduce(0, { $0 + $1.utf8.count }) <= longest else { return nil }
        return lines.flatMap { $0.split(separator: ",") }.map { $0.withoutSpaces.lowercased() }
    }

    /// Returns the parameters after the first word, with names in lower case, such as those of `Content-Disposition`.
    ///
    /// The first word may be missing, and bytes that are not UTF-8 are read as Latin-1.
    func parameters(_ name: HTTPField.Name?) -> [(name: String, value: String)] {
        let text = text(name) ?? single(name).map { String(latin1: $0) } ?? ""
        let first = text.prefix { $0 != ";" }
        var rest = first.contains("=") ? ";\(text)" : text[first.endIndex...]
        var parameters: [(name: String, value: String)] = []
        while rest.popFirst() != nil {
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest[name.endIndex...]
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            var value = ""
            if rest.first == "\"" {
                rest.removeFirst()
                // Up to the closing quote or the end of the field.
                while let character = rest.popFirst(), character != "\"" {
                    // Most servers that send a path of Windows do not quote its backslashes.
                    let isQuoted = character == "\\" && (rest.first == "\"" || rest.first == "\\")
                    value.append(isQuoted ? rest.removeFirst() : character)
                }
            } else {
                value = String(rest.prefix { $0 != ";" })
                while value.last == " " { value.removeLast() }
            }
            rest = rest.drop { $0 != ";" }
            parameters.append((name.withoutSpaces.lowercased(), value))
        }
        return parameters
    }
}

extension String {
    /// Reads bytes as ISO-8859-1.
    init(latin1 bytes: [UInt8]) { self = bytes.map { String(Unicode.Scalar($0)) }.joined() }
}

extension StringProtocol {
    /// The text without spaces and tabs.
    var withoutSpaces: String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        return utf8.contains(where: isSpace) ? String(self).filter { $0 != " " && $0 != "\t" } : String(self)
    }
}
