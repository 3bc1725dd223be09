/// Decides whether and when to retry: exponential backoff with jitter, reset by progress.
package struct RetryBudget: Sendable {
    /// The step after a failure.
    package enum Action: Sendable, Hashable {
        /// Retry after a delay.
        case wait(Duration)
        /// Stop: all retries are used up.
        case giveUp
    }

    /// A connection that received more bytes than this was useful.
    private static let enough: Int64 = 16 << 10
    /// The longest delay after a useful connection; it limits requests to fifty per second.
    private static let pause: Duration = .milliseconds(20)

    private let policy: RetryPolicy
    private var failures = 0
    private var restarts = 0

    /// Begins with a full budget.
    package init(_ policy: RetryPolicy = RetryPolicy()) {
        self.policy = policy
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - received: The number of bytes that the request added. Any progress resets the count of failures. After more
    ///     than 16 KiB the delay is at most 20 ms, since some servers and proxies close each connection after a while.
    ///   - retryAfter: The minimum delay that the server requested, in seconds.
    ///   - jitter: A random number from 0 to 1, a parameter so that the decision is reproducible.
    /// - Returns: The next step.
    package mutating func failed(received: Int64, retryAfter: Int64?, jitter: Double) -> Action {
        if received > 0 { progressed() }
        guard failures < policy.retries else { return .giveUp }
        let doubled = RetryPolicy.bounded(policy.firstDelay) * (1 << min(failures, 20))
        failures += 1
        // Half fixed, half random: never immediately, and not all clients at the same time.
        let random = jitter.isNaN ? 1 : min(max(jitter, 0), 1)
        let delay = min(doubled, RetryPolicy.bounded(policy.longestDelay)) * (0.5 + random / 2)
        let asked = Duration.seconds(retryAfter ?? 0)
        return .wait(max(received > Self.enough ? min(delay, Self.pause) : delay, asked))
    }

    /// Records a failed request and returns the delay before the next one, with a random part.
    ///
    /// - Parameters:
    ///   - received: The number of bytes that the request added; any progress resets the count of failures.
    ///   - retryAfter: The minimum delay that the server requested; nil if there was none.
    /// - Returns: The delay; nil if all retries are used up.
    package mutating func nextDelay(received: Int64, retryAfter: Duration? = nil) -> Duration? {
        let seconds = retryAfter?.components.seconds
        guard case .wait(let delay) = failed(received: received, retryAfter: seconds, jitter: .random(in: 0...1))
        else { return nil }
        return delay
    }

    /// Resets the count of failures.
    package mutating func progressed() { failures = 0 }

    /// Records a restart from the beginning.
    ///
    /// - Returns: Whether it is allowed; false if the server's validator changes too often.
    package mutating func restarted() -> Bool {
        restarts += 1
        return restarts <= policy.restarts
    }
}
