/// A JSON value that is printed with sorted keys, explicit nulls and escaped control characters.
enum JSON {
    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    static func optional(_ text: String?) -> JSON { text.map(JSON.string) ?? .null }
    static func optional(_ integer: Int64?) -> JSON { integer.map(JSON.integer) ?? .null }

    /// The text on one line.
    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .number(let value): value.isFinite ? String(value) : "null"
        case .string(let value): Self.quoted(value)
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { "\(Self.quoted($0.key)):\($0.value.text)" }.joined(
                    separator: ",")
                + "}"
        }
    }

    private static func quoted(_ value: String) -> String {
        var text = "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            default:
                // C0 and C1 controls and characters that change the text direction are escaped, since JSON may be shown
                // in a terminal.
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse:
                    for unit in String(scalar).utf16 {
                        let digits = String(unit, radix: 16)
                        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    }
                default:
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return text + "\""
    }
}
