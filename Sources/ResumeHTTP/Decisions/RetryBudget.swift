/// Decides whether and when to try again: jittered exponential back-off, renewed by real progress.
public struct RetryBudget: Sendable {
    /// The numbers a caller may set.
    public struct Limits: Sendable, Hashable {
        /// How many tries in a row may fail without a byte of progress.
        public var retries: Int
        /// The first wait, in seconds; each further one is twice as long.
        public var firstDelay: Double
        /// The longest wait, in seconds, but for what a server asks for.
        public var longestDelay: Double
        /// How many times one download may start over from nothing before the server counts as unstable.
        public var restarts: Int

        /// Makes limits; the defaults wait 0.5, 1, 2, … seconds, at most 30.
        public init(retries: Int = 5, firstDelay: Double = 0.5, longestDelay: Double = 30, restarts: Int = 3) {
            self.retries = max(retries, 0)
            // A wait that is no number, or has no end, would stop the program.
            self.longestDelay = longestDelay.isFinite ? min(max(longestDelay, 0), 86_400) : 86_400
            self.firstDelay = firstDelay.isFinite ? min(max(firstDelay, 0), 86_400) : 86_400
            self.restarts = max(restarts, 0)
        }
    }

    /// What to do after a failure.
    public enum Action: Sendable, Hashable {
        /// Try again after so many seconds.
        case wait(seconds: Double)
        /// No more tries: the budget is used up.
        case giveUp
    }

    /// More bytes than this are worth a connection.
    private static let enough: Int64 = 16 << 10
    /// The longest wait after a connection that was worth it, in seconds: so a server gets at most fifty in a second.
    private static let pause = 0.02

    private let limits: Limits
    private var failures = 0
    private var restarts = 0

    /// Begins with a full budget.
    public init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Takes note of a failed try.
    ///
    /// - Parameters:
    ///   - received: How many bytes the try added. Any begin the count anew. After more than 16 KiB the wait is 20 ms at
    ///     most, since some servers and proxies cut each connection after a while.
    ///   - retryAfter: What the server asked for, in seconds; it is waited for at least.
    ///   - jitter: A random number from 0 to 1, handed in so that the decision is a pure one.
    /// - Returns: What to do now.
    public mutating func failed(received: Int64, retryAfter: Int64?, jitter: Double) -> Action {
        if received > 0 { progressed() }
        guard failures < limits.retries else { return .giveUp }
        let doubled = limits.firstDelay * Double(Int64(1) << Int64(min(failures, 30)))
        failures += 1
        // Half fixed, half random: never at once, never all clients together.
        let random = jitter.isNaN ? 1 : min(max(jitter, 0), 1)
        let delay = min(doubled, limits.longestDelay) * (0.5 + random / 2)
        if received > Self.enough { return .wait(seconds: max(min(delay, Self.pause), Double(retryAfter ?? 0))) }
        return .wait(seconds: max(delay, Double(retryAfter ?? 0)))
    }

    /// Begins the count of failures anew.
    package mutating func progressed() { failures = 0 }

    /// Takes note of a start from nothing.
    ///
    /// - Returns: Whether it is allowed; false where the server's validator changes too often.
    public mutating func restarted() -> Bool {
        restarts += 1
        return restarts <= limits.restarts
    }
}
