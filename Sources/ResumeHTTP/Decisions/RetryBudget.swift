/// Decides whether and when to retry: exponential backoff with jitter, reset by progress.
public struct RetryBudget: Sendable {
    /// The configurable limits.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of consecutive failures without a byte of progress.
        public var retries: Int
        /// The first delay; each further one is twice as long.
        public var firstDelay: Duration
        /// The longest delay, unless the server requests a longer one.
        public var longestDelay: Duration
        /// How many times a download may restart from the beginning before the server counts as unstable.
        public var restarts: Int

        /// Creates limits; the default delays are 0.5, 1, 2, … seconds, at most 30.
        public init(
            retries: Int = 5, firstDelay: Duration = .milliseconds(500), longestDelay: Duration = .seconds(30),
            restarts: Int = 3
        ) {
            self.retries = max(retries, 0)
            self.longestDelay = Self.bounded(longestDelay)
            self.firstDelay = Self.bounded(firstDelay)
            self.restarts = max(restarts, 0)
        }

        /// Limits a delay, which may also have been set later, to a day.
        fileprivate static func bounded(_ delay: Duration) -> Duration { min(max(delay, .zero), .seconds(86_400)) }
    }

    /// The step after a failure.
    public enum Action: Sendable, Hashable {
        /// Retry after a delay.
        case wait(Duration)
        /// Stop: all retries are used up.
        case giveUp
    }

    /// A connection that received more bytes than this was useful.
    private static let enough: Int64 = 16 << 10
    /// The longest delay after a useful connection; it limits requests to fifty per second.
    private static let pause: Duration = .milliseconds(20)

    private let limits: Limits
    private var failures = 0
    private var restarts = 0

    /// Begins with a full budget.
    public init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - received: The number of bytes that the request added. Any progress resets the count of failures. After more
    ///     than 16 KiB the delay is at most 20 ms, since some servers and proxies close each connection after a while.
    ///   - retryAfter: The minimum delay that the server requested, in seconds.
    ///   - jitter: A random number from 0 to 1, a parameter so that the decision is reproducible.
    /// - Returns: The next step.
    public mutating func failed(received: Int64, retryAfter: Int64?, jitter: Double) -> Action {
        if received > 0 { progressed() }
        guard failures < limits.retries else { return .giveUp }
        let doubled = Limits.bounded(limits.firstDelay) * (1 << min(failures, 20))
        failures += 1
        // Half fixed, half random: never immediately, and not all clients at the same time.
        let random = jitter.isNaN ? 1 : min(max(jitter, 0), 1)
        let delay = min(doubled, Limits.bounded(limits.longestDelay)) * (0.5 + random / 2)
        let asked = Duration.seconds(retryAfter ?? 0)
        return .wait(max(received > Self.enough ? min(delay, Self.pause) : delay, asked))
    }

    /// Resets the count of failures.
    package mutating func progressed() { failures = 0 }

    /// Records a restart from the beginning.
    ///
    /// - Returns: Whether it is allowed; false if the server's validator changes too often.
    public mutating func restarted() -> Bool {
        restarts += 1
        return restarts <= limits.restarts
    }
}
