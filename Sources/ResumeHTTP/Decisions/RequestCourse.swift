/// Decides what follows each request of a download: another request, a wait, or the end.
///
/// It has no side effects; the time and random numbers are parameters.
package struct RequestCourse: Sendable {
    /// How a request ended, with bytes still missing.
    package enum Outcome: Sendable {
        /// Its body added `received` bytes; `failed` if it ended early, or if there was no response.
        case body(received: Int64, failed: Bool)
        /// The stored bytes are wrong and were discarded.
        case discarded
        /// Another request follows the response, which was not used.
        case unused
        /// The response was not usable; request the whole file.
        case askForWhole(Reason)
        /// Repeat the request later; `failedRange` if the server failed at a range, which it may be unable to serve.
        case retry(afterSeconds: Int64?, failedRange: Bool)
    }

    /// The remaining retries and restarts.
    package var budget: RetryBudget
    /// How ranges are requested.
    package var ranges = RangeCourse()
    private var failedRanges = 0
    /// The number of unused responses since a body brought bytes.
    private var unused = 0
    /// The number of unused responses that are no failure.
    private static let mostUnused = 24
    /// A complete body with fewer bytes is followed by a pause.
    private static let small: Int64 = 64 << 10
    /// Why the next request is for the whole file whatever is stored; nil if it is not.
    package private(set) var avoidsRange: Reason?

    /// Begins with a full budget.
    package init(_ limits: RetryPolicy) {
        budget = RetryBudget(limits)
    }

    /// Records that the body of a response is used.
    ///
    /// - Parameter anew: Whether the body replaces the stored bytes.
    /// - Returns: Whether that is allowed; false if it happened too often.
    package mutating func began(anew: Bool) -> Bool {
        // The restart has been counted when the whole file was requested.
        defer { avoidsRange = nil }
        if anew { ranges.startedOver() }
        return !anew || avoidsRange != nil || budget.restarted()
    }

    /// Records how a request ended.
    ///
    /// - Parameters:
    ///   - outcome: How the request ended.
    ///   - moment: The circumstances.
    /// - Returns: The next step.
    package mutating func next(after outcome: Outcome, at moment: RetryBudget.Moment) -> RetryBudget.Action {
        switch outcome {
        case .body(let received, let failed):
            if received > 0 { (failedRanges, unused) = (0, 0) }
            // The remaining bytes were not part of the request.
            if received > 0, !failed {
                budget.add(received, of: moment.total)
                return received < Self.small ? .wait(RetryBudget.pause) : .askAgain
            }
            return budget.failed(received: received, at: moment)
        case .discarded:
            return start(avoidingRange: nil)
        case .unused:
            unused += 1
            return unused <= Self.mostUnused ? .askAgain : budget.failed(received: 0, at: moment)
        case .askForWhole(let reason):
            guard ranges.refused() else { return .askAgain }
            return start(avoidingRange: reason)
        case .retry(let seconds, let failedRange):
            // An overloaded server fails at every request; one that cannot serve ranges responds with 500 to those.
            if failedRange { failedRanges += 1 }
            if failedRanges >= 2, avoidsRange == nil, start(avoidingRange: .rangeFailsRepeatedly) == .unstable {
                return .unstable
            }
            return budget.failed(received: 0, retryAfter: seconds, at: moment)
        }
    }

    /// Records that a body was closed, so that a range is requested again.
    package mutating func closedBody() { avoidsRange = nil }

    private mutating func start(avoidingRange reason: Reason?) -> RetryBudget.Action {
        avoidsRange = reason
        return budget.restarted() ? .askAgain : .unstable
    }
}
