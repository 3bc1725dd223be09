package import HTTPTypes

/// Reasons for waits.
extension Reason {
    /// The status of a response in words.
    package static func status(of response: HTTPResponse, otherwise: Reason? = nil) -> Reason {
        let code = response.status.code
        let phrase = Printable.escaped(response.status.reasonPhrase)
        let more = otherwise.map { "; \($0.text)" } ?? ""
        let status = phrase.isEmpty ? "status \(code)" : "\(code) \(phrase)"
        return Reason("status-\(code)", sentence("status", status, more))
    }

    /// The server asked an earlier download to wait.
    package static func waitRequested(_ origin: String) -> Reason { Reason("wait-requested", with: origin) }

    /// The server refused a request while it served others.
    package static func noFurtherConnection(_ origin: String, _ reason: Reason? = nil) -> Reason {
        let cause = reason.map { Reason("serves-others", with: $0.clause, origin) }
        return Reason(.noFurtherConnection, cause?.text ?? sentence("serves-no-more", origin))
    }
}
