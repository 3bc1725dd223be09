public import ResumeHTTP

/// Why a fetch failed, according to the server's responses.
///
/// The received bytes are kept. Errors of the caller's HTTP client are thrown as they are instead.
public struct FetchError: Error, Sendable, Hashable {
    /// The reason.
    public var reason: Reason
    /// The status of the last response; nil if its body caused the failure.
    public var status: Int?

    /// Creates an error, such as that of a test double.
    public init(_ reason: Reason, status: Int? = nil) {
        self.reason = reason
        self.status = status
    }
}

extension FetchError: CustomStringConvertible {
    /// The reason.
    public var description: String { reason.text }
}
