/// A JSON text read strictly (RFC 8259), the order of its keys kept.
enum JSONText: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONText])
    case object([Member])

    /// A name and its value.
    struct Member: Equatable, Sendable {
        var key: String
        var value: JSONText
    }

    /// Text that is not JSON.
    struct Malformed: Error {
        var text: String
        var position: Int
    }

    init(parsing text: String) throws(Malformed) {
        var parser = JSONParser(text)
        self = try parser.value()
        parser.skipSpace()
        guard parser.isAtEnd else { throw parser.malformed }
    }

    subscript(key: String) -> JSONText? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.key == key }?.value
    }

    var keys: [String] {
        guard case .object(let members) = self else { return [] }
        return members.map(\.key)
    }

    var string: String? { if case .string(let value) = self { value } else { nil } }
    var integer: Int64? { if case .number(let value) = self { Int64(value) } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var array: [JSONText]? { if case .array(let values) = self { values } else { nil } }

    /// Whether the keys of each object are sorted and none is there twice.
    var hasSortedKeys: Bool {
        switch self {
        case .array(let values): values.allSatisfy(\.hasSortedKeys)
        case .object(let members):
            zip(members, members.dropFirst()).allSatisfy { $0.key < $1.key }
                && members.allSatisfy(\.value.hasSortedKeys)
        default: true
        }
    }
}

/// A parser by recursive descent.
private struct JSONParser {
    private let scalars: [Unicode.Scalar]
    private var position = 0

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    var isAtEnd: Bool { position == scalars.count }
    var malformed: JSONText.Malformed { .init(text: String(String.UnicodeScalarView(scalars)), position: position) }
    private var next: Unicode.Scalar? { isAtEnd ? nil : scalars[position] }

    mutating func skipSpace() {
        while let next, " \t\r\n".unicodeScalars.contains(next) { position += 1 }
    }

    private mutating func take(_ text: String) -> Bool {
        let wanted = Array(text.unicodeScalars)
        guard scalars[position...].starts(with: wanted) else { return false }
        position += wanted.count
        return true
    }

    mutating func value() throws(JSONText.Malformed) -> JSONText {
        skipSpace()
        if take("null") { return .null }
        if take("true") { return .bool(true) }
        if take("false") { return .bool(false) }
        if take("[") { return .array(try elements()) }
        if take("{") { return .object(try members()) }
        if next == "\"" { return .string(try string()) }
        return .number(try number())
    }

    private mutating func elements() throws(JSONText.Malformed) -> [JSONText] {
        skipSpace()
        if take("]") { return [] }
        var elements: [JSONText] = []
        while true {
            elements.append(try value())
            skipSpace()
            if take("]") { return elements }
            guard take(",") else { throw malformed }
        }
    }

    private mutating func members() throws(JSONText.Malformed) -> [JSONText.Member] {
        skipSpace()
        if take("}") { return [] }
        var members: [JSONText.Member] = []
        while true {
            skipSpace()
            let key = try string()
            skipSpace()
            guard take(":") else { throw malformed }
            members.append(.init(key: key, value: try value()))
            skipSpace()
            if take("}") { return members }
            guard take(",") else { throw malformed }
        }
    }

    private mutating func number() throws(JSONText.Malformed) -> String {
        let start = position
        while let next, "+-.0123456789Ee".unicodeScalars.contains(next) { position += 1 }
        let text = String(String.UnicodeScalarView(scalars[start..<position]))
        guard text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil else { throw malformed }
        return text
    }

    private mutating func string() throws(JSONText.Malformed) -> String {
        guard take("\"") else { throw malformed }
        var units: [UInt16] = []
        while let next, next.value >= 0x20 {
            position += 1
            switch next {
            case "\"":
                guard let text = String(validating: units, as: UTF16.self) else { throw malformed }
                return text
            case "\\": units.append(try escaped())
            default: units += Array(String(next).utf16)
            }
        }
        throw malformed
    }

    private mutating func escaped() throws(JSONText.Malformed) -> UInt16 {
        guard let next else { throw malformed }
        position += 1
        switch next {
        case "\"", "\\", "/": return UInt16(next.value)
        case "b": return 8
        case "t": return 9
        case "n": return 10
        case "f": return 12
        case "r": return 13
        case "u":
            let digits = String(String.UnicodeScalarView(scalars[position...].prefix(4)))
            guard digits.count == 4, let unit = UInt16(digits, radix: 16) else { throw malformed }
            position += 4
            return unit
        default: throw malformed
        }
    }
}
