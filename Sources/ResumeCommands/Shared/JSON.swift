import ResumeFiles
import ResumeHTTP

/// A value that is printed as JSON: with sorted keys, explicit nulls and escaped control characters, on one line.
protocol JSONValue {
    var json: String { get }
}

typealias JSONObject = [String: (any JSONValue)?]

extension Dictionary: JSONValue where Key == String, Value == (any JSONValue)? {
    var json: String {
        let members = sorted { $0.key < $1.key }.map { "\($0.key.json):\($0.value?.json ?? "null")" }
        return "{\(members.joined(separator: ","))}"
    }

    /// Returns the object with further members.
    func adding(_ others: JSONObject) -> JSONObject { merging(others) { $1 } }
}

extension Reason {
    var members: JSONObject { ["reason": code.rawValue, "message": text] }

    static let sameResource = Reason("another-download")

    /// Returns the event of a wait for this reason, which ends after a time if that is known.
    func waiting(_ url: String?, _ seconds: Int64?) -> JSONObject {
        let time = seconds.map { WallClock.text(afterSeconds: $0) }
        return members.adding(["event": "waiting", "url": url, "until": time])
    }
}

extension HTTPDigest {
    var members: JSONObject { [algorithm.rawValue.filter { $0 != "-" }: hexadecimal] }
}

extension Array: JSONValue where Element: JSONValue {
    var json: String { "[\(map(\.json).joined(separator: ","))]" }
}

extension JSONValue where Self: CustomStringConvertible {
    var json: String { description }
}

extension Bool: JSONValue {}
extension Int: JSONValue {}
extension Int64: JSONValue {}
extension Double: JSONValue {}

extension String: JSONValue {
    var json: String {
        let text = unicodeScalars.reduce(into: "\"") { text, scalar in
            let own = String(scalar)
            if scalar == "\"" || scalar == "\\" {
                text += "\\" + own
            } else if Printable.escaped(own) == own {
                text += own
            } else {
                // JSON may be shown in a terminal.
                for unit in own.utf16 { text += "\\u" + Hexadecimal.text([UInt8(unit >> 8), UInt8(unit & 0xFF)]) }
            }
        }
        return text + "\""
    }
}
