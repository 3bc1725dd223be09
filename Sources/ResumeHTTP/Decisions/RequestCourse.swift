/// Decides what follows each request of a download: another one, a wait, or the end.
///
/// A pure value: what is random is handed in.
package struct RequestCourse: Sendable {
    /// How a request ended, with bytes still missing.
    package enum Outcome: Sendable {
        /// Its body was used as far as it came, and added so many bytes; `failed` where that was not to its end, or where
        /// there was no answer.
        case body(received: Int64, failed: Bool)
        /// What was held is wrong, and is dropped.
        case discarded
        /// The answer was of no use; ask for the whole.
        case askForWhole(Reason)
        /// Ask again later; `failedRange` where the server failed at a range, which it may not be able to serve.
        case retry(afterSeconds: Int64?, failedRange: Bool)
    }

    /// What to do.
    package enum Action: Sendable, Hashable {
        case askAgain
        case wait(seconds: Double)
        /// No more tries.
        case giveUp
        /// It began anew too often: the server's file or its answers change.
        case unstable
    }

    /// What is left of tries and starts.
    package var budget: RetryBudget
    private var failedRanges = 0
    /// Why the next request is for the whole whatever is held; nil where it is not.
    package private(set) var avoidsRange: Reason?

    /// Begins with a full budget.
    package init(_ limits: RetryBudget.Limits) {
        budget = RetryBudget(limits)
    }

    /// Takes note of an answer whose body is used.
    ///
    /// - Parameter anew: Whether it takes the place of what is held.
    /// - Returns: Whether that is allowed; false where it happens too often.
    package mutating func began(anew: Bool) -> Bool {
        // The request for the whole that led here has been counted.
        defer { avoidsRange = nil }
        return !anew || avoidsRange != nil || budget.restarted()
    }

    /// Takes note of how a request ended.
    ///
    /// - Parameters:
    ///   - outcome: How.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: What to do now.
    package mutating func next(after outcome: Outcome, jitter: Double) -> Action {
        switch outcome {
        case .body(let received, let failed):
            if received > 0 {
                failedRanges = 0
                budget.progressed()
            }
            // What is left is behind what was asked for.
            if received > 0, !failed { return .askAgain }
            return waitOrGiveUp(received: received, jitter: jitter)
        case .discarded:
            return start(avoidingRange: nil)
        case .askForWhole(let reason):
            return start(avoidingRange: reason)
        case .retry(let seconds, let failedRange):
            // A server that is overloaded says so to every request; one that cannot serve ranges says 500 to those.
            if failedRange { failedRanges += 1 }
            if failedRanges >= 2, avoidsRange == nil, start(avoidingRange: .rangeFailsRepeatedly) == .unstable {
                return .unstable
            }
            return waitOrGiveUp(received: 0, retryAfter: seconds, jitter: jitter)
        }
    }

    private mutating func start(avoidingRange reason: Reason?) -> Action {
        avoidsRange = reason
        return budget.restarted() ? .askAgain : .unstable
    }

    private mutating func waitOrGiveUp(received: Int64, retryAfter: Int64? = nil, jitter: Double) -> Action {
        switch budget.failed(received: received, retryAfter: retryAfter, jitter: jitter) {
        case .wait(let seconds): .wait(seconds: seconds)
        case .giveUp: .giveUp
        }
    }
}
