package import ResumeHTTP

/// Decides what follows a request of a fetch: another one, a wait, or the end.
///
/// A pure value: what is random is handed in.
package struct FetchCourse {
    /// How a request ended.
    package enum Outcome {
        /// Its body was used as far as it came; `failed` where that was not to its end, `restarted` where it is of another
        /// representation than what was held.
        case body(progressed: Bool, failed: Bool, restarted: Bool)
        /// What was held is wrong, and was dropped.
        case discarded
        /// The answer was of no use; ask for the whole.
        case askForWhole(Reason)
        /// Ask again later; `isRange` where the server failed at a range, which it may not be able to serve.
        case retry(afterSeconds: Int64?, failedRange: Bool)
        /// There was no answer.
        case unanswered
    }

    /// What to do.
    package enum Action: Equatable {
        case askAgain
        case wait(seconds: Double)
        /// No more tries.
        case giveUp
    }

    private var budget: RetryBudget
    private var failedRanges = 0
    /// Why the next request is for the whole whatever is held; nil where it is not.
    package private(set) var avoidsRange: Reason?

    /// Begins with a full budget.
    package init(_ limits: RetryBudget.Limits) {
        budget = RetryBudget(limits)
    }

    /// Takes note of how a request ended, with bytes still missing.
    ///
    /// - Parameters:
    ///   - outcome: How.
    ///   - jitter: A random number from 0 to 1.
    /// - Returns: What to do now.
    package mutating func next(after outcome: Outcome, jitter: Double) -> Action {
        switch outcome {
        case .body(let progressed, let failed, let restarted):
            // The request for the whole that led to a restart has been counted.
            let counts = restarted && avoidsRange == nil
            avoidsRange = nil
            if progressed { failedRanges = 0 }
            guard !counts || budget.restarted() else { return .giveUp }
            // What is left is behind what was asked for.
            if progressed, !failed { return .askAgain }
            return waitOrGiveUp(progressed: progressed, jitter: jitter)
        case .discarded:
            avoidsRange = nil
            return budget.restarted() ? .askAgain : .giveUp
        case .askForWhole(let reason):
            avoidsRange = reason
            return budget.restarted() ? .askAgain : .giveUp
        case .retry(let seconds, let failedRange):
            if failedRange { failedRanges += 1 }
            if failedRanges >= 2 { avoidsRange = .rangeFailsRepeatedly }
            return waitOrGiveUp(progressed: false, retryAfter: seconds, jitter: jitter)
        case .unanswered:
            return waitOrGiveUp(progressed: false, jitter: jitter)
        }
    }

    private mutating func waitOrGiveUp(progressed: Bool, retryAfter: Int64? = nil, jitter: Double) -> Action {
        switch budget.failed(progressed: progressed, retryAfter: retryAfter, jitter: jitter) {
        case .wait(let seconds): .wait(seconds: seconds)
        case .giveUp: .giveUp
        }
    }
}
