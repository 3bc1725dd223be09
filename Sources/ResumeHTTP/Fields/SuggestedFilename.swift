import HTTPTypes

extension Representation {
    /// A filename suggested by a server, restricted to a single harmless path component.
    ///
    /// It is not empty and not hidden, is not too long for file systems, and has no control characters.
    enum SuggestedFilename {
        /// Reads `Content-Disposition` (RFC 6266); nil if it has no usable name.
        ///
        /// `filename*` is preferred to `filename`.
        static func name(in fields: HTTPFields) -> String? {
            guard fields.contains(.contentDisposition) else { return nil }
            let parameters = fields.parameters(.contentDisposition)
            let extended = parameters.first { $0.name == "filename*" }.flatMap { decoded($0.value) }
            let plain = parameters.first { $0.name == "filename" }?.value
            return extended.flatMap(usable) ?? plain.flatMap(usable)
        }

        /// Removes the unsafe parts of a name; nil if nothing is left.
        ///
        /// Removes everything up to the last slash or backslash, leading dots (which would hide the file), leading dashes
        /// (which programs would take for options), and invisible characters at either end.
        static func usable(_ text: String) -> String? {
            // Compares scalars, since a combining mark after a slash forms one character with it.
            let scalars = text.unicodeScalars
            let start = scalars.lastIndex { $0 == "/" || $0 == "\\" }.map { scalars.index(after: $0) }
            let isBlank: (Unicode.Scalar) -> Bool = {
                $0.properties.isWhitespace || $0.properties.isDefaultIgnorableCodePoint || $0 == "\u{2800}"
            }
            var last = scalars[(start ?? scalars.startIndex)...].drop { $0 == "." || $0 == "-" || isBlank($0) }
            while last.last.map(isBlank) ?? false { last.removeLast() }
            let name = String(last)
            return name.isEmpty || Printable.escaped(name) != name ? nil : FileName.fitting(name)
        }

        /// Decodes a value such as `UTF-8''a%20b` (RFC 8187); nil if it is malformed.
        private static func decoded(_ value: String) -> String? {
            let parts = value.parts(at: "'", most: 2)
            guard parts.count == 3 else { return nil }
            return PercentEncoding.bytes(of: String(parts[2].filter { $0 != " " })).flatMap { text($0, in: parts[0]) }
        }

        private static func text(_ bytes: [UInt8], in charset: Substring) -> String? {
            switch charset.withoutSpaces.lowercased() {
            case "utf-8": String(validating: bytes, as: UTF8.self)
            case "iso-8859-1": String(latin1: bytes)
            default: nil
            }
        }
    }
}
