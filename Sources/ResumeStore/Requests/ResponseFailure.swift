package import ResumeHTTP

/// Why a request failed, according to the server's response.
package struct ResponseFailure: Error, Sendable, Hashable {
    /// The reason.
    package var reason: Reason
    /// The status of the response; nil if its body caused the failure.
    package var status: Int?

    /// Creates an error.
    package init(_ reason: Reason, status: Int? = nil) {
        self.reason = reason
        self.status = status
    }
}
