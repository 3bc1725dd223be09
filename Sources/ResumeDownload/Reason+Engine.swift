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
            default: Reason(code: .init(rawValue: "failed"), text: "failed with an error of type \(type(of: error))")
            }
    }

    static let cancelled = Reason(
        code: .init(rawValue: "cancelled"), text: "cancelled by the caller; the partial data is kept")

    static func tooLarge(_ length: Int64, limit: Int64) -> Reason {
        Reason(
            code: .init(rawValue: "too-large"),
            text: "the download has \(length) bytes, which exceeds the limit of \(limit) bytes")
    }

    static func notPermitted(_ url: DownloadURL) -> Reason {
        Reason(code: .init(rawValue: "not-permitted"), text: "requests to \(url) are not permitted")
    }

    static func forbidden(_ refusal: Reason) -> Reason {
        Reason(
            code: refusal.code,
            text: "\(refusal.clause). The partial data is kept. "
                + "To resume, run the download again with valid credentials or a fresh URL.")
    }

    static func retriesExhausted(_ last: Reason, held: Int64) -> Reason {
        let rest =
            held > 0
            ? "the \(held) bytes received are kept. Run the download again to resume it."
            : "run the download again later."
        return Reason(code: last.code, text: "\(last.clause). No retries are left; \(rest)")
    }

    static func transport(_ error: TransportError) -> Reason {
        Reason(code: .init(rawValue: error.code.rawValue), text: Printable.escaped(error.message))
    }

    static func redirect(_ problem: Redirection.Problem, from host: String) -> Reason {
        Reason(
            code: .init(rawValue: "redirect"), text: "a redirect from \(host) was not followed: \(problem.description)")
    }
}
