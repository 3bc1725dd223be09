public import ResumeHTTP

/// Why a fetch was given up, as the server's answers tell it.
///
/// What came is kept. What a caller's own client throws is passed on as it is instead.
public struct FetchError: Error, Sendable, Hashable {
    /// Why.
    public var reason: Reason
    /// The status of the last answer; nil where its body was what went wrong.
    public var status: Int?

    init(_ reason: Reason, status: Int? = nil) {
        self.reason = reason
        self.status = status
    }
}

extension FetchError: CustomStringConvertible {
    /// The reason.
    public var description: String { reason.text }
}
