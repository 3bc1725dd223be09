internal import ResumeHTTP
internal import ResumeStore

extension Reason {
    /// Why a request, a body or a download ended with an error.
    init(for error: any Error) {
        self =
            switch error {
            case is CancellationError: .cancelled
            case let error as DownloadError: error.reason
            case let error as TransportError: .transport(error)
            case let error as StoreError: Reason(code: .init(rawValue: "failed"), text: error.message)
            // What a caller's hook or transport throws may hold a URL with its signature.
            default: Reason(code: .init(rawValue: "failed"), text: "It failed with \(type(of: error)).")
            }
    }

    static let cancelled = Reason(code: .init(rawValue: "cancelled"), text: "It was interrupted; what came is kept.")

    static func tooLarge(_ length: Int64, limit: Int64) -> Reason {
        Reason(
            code: .init(rawValue: "too-large"),
            text:
                "The download has more than the \(limit) bytes that are allowed\(length > limit ? " (\(length))" : "")."
        )
    }

    static func notPermitted(_ url: DownloadURL) -> Reason {
        Reason(code: .init(rawValue: "not-permitted"), text: "Requests to \(url.redacted) are not permitted here.")
    }

    static func forbidden(_ refusal: Reason) -> Reason {
        Reason(
            code: refusal.code,
            text: "\(refusal.text) What came is kept: run it again with valid credentials or a fresh URL.")
    }

    static func retriesExhausted(_ last: Reason, held: Int64) -> Reason {
        let rest = held > 0 ? "what came is kept, run it again" : "run it again later"
        return Reason(code: last.code, text: "\(last.text) The tries are used up; \(rest).")
    }

    static func transport(_ error: TransportError) -> Reason {
        Reason(code: .init(rawValue: error.code.rawValue), text: Printable.escaped(error.message))
    }

    static func redirect(_ problem: Redirection.Problem) -> Reason {
        Reason(code: .init(rawValue: "redirect"), text: problem.description)
    }
}
