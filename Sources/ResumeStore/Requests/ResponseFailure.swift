import ResumeFiles
package import ResumeHTTP

/// Why a request failed, according to the server's response.
package struct ResponseFailure: Error, Sendable, Hashable {
    /// The reason.
    package var reason: Reason
    /// The status of the response; nil if its body caused the failure.
    package var status: Int?
    /// How long the server asks to wait, in seconds; nil if it does not.
    package var afterSeconds: Int64?

    /// Creates an error.
    package init(_ reason: Reason, status: Int? = nil, afterSeconds: Int64? = nil) {
        self.reason = reason
        self.status = status
        self.afterSeconds = afterSeconds
    }

    /// The reason for giving up, which says until when the server asks to wait.
    package var lastReason: Reason {
        guard let afterSeconds, afterSeconds > 0 else { return reason }
        let time = WallClock.text(afterSeconds: afterSeconds)
        return Reason(code: reason.code, text: "\(reason.clause), and asks to wait until \(time)")
    }
}
