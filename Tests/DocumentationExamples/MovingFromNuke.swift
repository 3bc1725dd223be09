import HTTPTypes
import ResumeHTTP
import ResumeStore

func headers(for transfer: Transfer) async -> [String: String] {
    // SNIPPET
    var headers: [String: String] = [:]
    for field in await transfer.nextRequest() { headers[field.name.rawName] = field.value }
    // END
    return headers
}

// SNIPPET
/// Converts the status and header fields of a URLSession response; returns nil if the status is not valid.
func head(status: Int, headers: [String: String]) -> HTTPResponse? {
    guard (100...999).contains(status) else { return nil }
    var head = HTTPResponse(status: .init(code: status))
    for (name, value) in headers {
        guard let name = HTTPField.Name(name) else { continue }
        head.headerFields.append(HTTPField(name: name, value: value))
    }
    return head
}
// END
