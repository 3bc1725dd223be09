import HTTPTypes
import ResumeHTTP

/// A header field as people type it.
enum HeaderLine {
    /// Parses `Name: value`.
    static func field(_ header: String) -> HTTPField? {
        guard let colon = header.firstIndex(of: ":"), let name = HTTPField.Name(String(header[..<colon])) else {
            return nil
        }
        let value = String(Substring(header.utf8[header.index(after: colon)...].trimmed))
        return HTTPField.isValidValue(value) ? HTTPField(name: name, value: value) : nil
    }
}
