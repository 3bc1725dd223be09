import HTTPTypes
import ResumeHTTP

/// A header field as people type it.
enum HeaderLine {
    /// Parses `Name: value`.
    static func field(_ header: String) -> HTTPField? {
        guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
            return nil
        }
        var value = header[header.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        guard HTTPField.isValidValue(String(value)) else { return nil }
        return HTTPField(name: name, value: String(value))
    }
}
