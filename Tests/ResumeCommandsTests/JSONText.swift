import Foundation

/// A JSON text read strictly (RFC 8259), with the keys of its objects in order.
enum JSONText: Equatable, Sendable, Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONText])
    case object([String: JSONText])

    /// Text with keys that are not sorted, or there twice, or with a comma at an end, which Foundation accepts.
    struct Malformed: Error {
        var text: String
    }

    init(parsing text: String) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(text.utf8))
        guard Self.isStrict(text) else { throw Malformed(text: text) }
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let object = try? value.decode([String: JSONText].self) {
            self = .object(object)
        } else if let array = try? value.decode([JSONText].self) {
            self = .array(array)
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else {
            self = .number(try value.decode(Double.self))
        }
    }

    subscript(key: String) -> JSONText? { if case .object(let members) = self { members[key] } else { nil } }

    var keys: [String] { if case .object(let members) = self { members.keys.sorted() } else { [] } }
    var string: String? { if case .string(let value) = self { value } else { nil } }
    var integer: Int64? { if case .number(let value) = self { Int64(exactly: value) } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    var array: [JSONText]? { if case .array(let values) = self { values } else { nil } }

    private static func isStrict(_ text: String) -> Bool {
        // The last key of each object that has begun and not ended.
        var last: [Substring] = []
        for match in text.matches(of: /,\s*[}\]]|[{}]|"((?:[^"\\]|\\.)*)"(\s*:)?/) {
            if match.0.first == "," { return false }
            if match.0 == "{" {
                last.append("")
            } else if match.0 == "}" {
                last.removeLast()
            } else if match.2 != nil, let key = match.1 {
                guard last.last.map({ $0 < key }) == true else { return false }
                last[last.count - 1] = key
            }
        }
        return true
    }
}
