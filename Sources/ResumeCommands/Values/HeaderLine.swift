internal import HTTPTypes
internal import ResumeHTTP

/// A header field as people type it.
enum HeaderLine {
    /// Parses `Name: value`.
    static func field(_ header: String) -> HTTPField? {
        guard let parts = header.wholeMatch(of: /(?s)([^:]*):[ \t]*(.*?)[ \t]*/),
            let name = HTTPField.Name(String(parts.1)), HTTPField.isValidValue(String(parts.2))
        else { return nil }
        return HTTPField(name: name, value: String(parts.2))
    }
}
