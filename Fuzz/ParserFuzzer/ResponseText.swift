import HTTPTypes

/// A response's fields as written in an input, one per line.
struct ResponseText {
    /// The fields; invalid lines are skipped.
    private(set) var fields = HTTPFields()
    /// The lines as name in lower case and value without surrounding white space.
    private(set) var lines: [(name: String, value: [UInt8])] = []

    /// Parses lines that end in LF.
    init(_ bytes: some Collection<UInt8>) {
        for line in bytes.split(separator: 0x0A) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            let field = HTTPField(name: name, lenientValue: Array(line[colon...].dropFirst()))
            fields.append(field)
            lines.append((name.canonicalName, Self.bytes(of: field)))
        }
    }

    /// Returns the distinct values of a field.
    func values(_ name: String) -> Set<[UInt8]> {
        Set(lines.lazy.filter { $0.name == name }.map(\.value))
    }

    private static func bytes(of field: HTTPField) -> [UInt8] {
        let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var value = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }[...]
        value = value.drop(while: isSpace)
        while let last = value.last, isSpace(last) { value.removeLast() }
        return Array(value)
    }
}
