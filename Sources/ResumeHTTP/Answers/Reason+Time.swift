package import HTTPTypes

/// Reasons for waits.
extension Reason {
    /// The status of a response in words.
    package static func status(of response: HTTPResponse, otherwise: Reason? = nil) -> Reason {
        let code = response.status.code
        let phrase = Printable.escaped(response.status.reasonPhrase)
        let more = otherwise.map { "; \($0.text)" } ?? ""
        return Reason(
            "status-\(code)",
            "the server responded with \(phrase.isEmpty ? "status \(code)" : "\(code) \(phrase)")\(more)")
    }

    /// The server asked an earlier download to wait.
    package static func waitRequested(_ origin: String) -> Reason { Reason("wait-requested", with: origin) }

    /// The server refused a request while it served others.
    package static func noFurtherConnection(_ origin: String, _ reason: Reason? = nil) -> Reason {
        let cause = reason.map { "\($0.clause) while other downloads from \(origin) run" }
        return Reason(
            .noFurtherConnection,
            "\(cause ?? "\(origin) serves no more downloads at a time"); waiting for one of them to end")
    }
}
