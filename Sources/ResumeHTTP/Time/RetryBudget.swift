/// Decides whether and when to retry: a number of times before the first progress, and for a time after it.
package struct RetryBudget: Sendable {
    /// The next step.
    package enum Action: Sendable, Hashable {
        case askAgain
        case wait(Duration)
        /// Stop: the retries and the time are used up.
        case giveUp
        /// Stop: the download restarted too often, since the file or the responses of the server change.
        case unstable
    }

    /// The circumstances of a decision.
    package struct Moment: Sendable {
        /// The time on a clock that stands still while the machine sleeps.
        var now: Duration
        /// The length of the file; nil if it is unknown.
        var total: Int64?
        /// Whether a download from the same origin has made progress in this run.
        var originWorks: Bool
        /// A random number from 0 to 1, so that the decision is reproducible.
        var jitter: Double

        /// Describes the circumstances.
        package init(now: Duration, total: Int64? = nil, originWorks: Bool = false, jitter: Double) {
            self.now = now
            self.total = total
            self.originWorks = originWorks
            self.jitter = jitter.isNaN ? 1 : min(max(jitter, 0), 1)
        }
    }

    /// A connection that received more bytes than this was useful.
    private static let enough: Int64 = 16 << 10
    /// The longest delay after a useful connection; it limits requests to about sixty per second.
    static let pause: Duration = .milliseconds(15)
    /// The longest time that is added at random to a delay that the server requested.
    private static let longestAddition: Duration = .seconds(60)

    private let policy: RetryPolicy
    private var failures = 0
    private var restarts = 0
    /// The bytes that were received since the last progress.
    private var gained: Int64 = 0
    /// The time of the first failure since the last progress.
    private var failingSince: Duration?
    /// Whether there was any progress.
    package private(set) var hasProgressed = false

    /// Begins with a full budget.
    init(_ policy: RetryPolicy = RetryPolicy()) {
        self.policy = policy
    }

    /// Adds received bytes, which are progress if they are enough together.
    ///
    /// - Parameters:
    ///   - received: The number of bytes that a request added.
    ///   - total: The length of the file; nil if it is unknown.
    mutating func add(_ received: Int64, of total: Int64?) {
        gained += min(max(received, 0), .max - gained)
        guard gained >= min(64 << 10, total.map { max($0 / 100, 1) } ?? .max) else { return }
        failures = 0
        gained = 0
        failingSince = nil
        hasProgressed = true
    }

    /// Records a failure.
    ///
    /// - Parameters:
    ///   - received: The number of bytes that the request added. After more than 16 KiB the delay is at most 15 ms,
    ///     since some servers and proxies close each connection after a while.
    ///   - retryAfter: The delay that the server requested, in seconds; it is lengthened at random, so that not all
    ///     clients return in the same second, and never shortened.
    ///   - moment: The circumstances.
    /// - Returns: The next step: a wait, or the end, also if the server asks to wait longer than the policy allows.
    package mutating func failed(
        received: Int64, retryAfter: Int64? = nil, at moment: Moment
    ) -> Action {
        add(received, of: moment.total)
        let since = failingSince ?? moment.now
        failingSince = since
        let hasWorked = hasProgressed || moment.originWorks
        let mayGoOn = hasWorked ? moment.now - since < policy.time : failures < policy.retries
        let asked = Duration.seconds(max(retryAfter ?? 0, 0))
        guard policy.retries > 0, mayGoOn, asked <= policy.time else { return .giveUp }
        let doubled = RetryPolicy.bounded(policy.firstDelay) * (1 << min(failures, 20))
        failures += 1
        // Half fixed, half random: never immediately, and not all clients at the same time.
        let delay = min(doubled, RetryPolicy.bounded(policy.longestDelay)) * (0.5 + moment.jitter / 2)
        return .wait(
            max(received > Self.enough ? min(delay, Self.pause) : delay, Self.lengthened(asked, moment.jitter)))
    }

    /// Leaves out a time in which the download could not try again.
    package mutating func leaveOut(_ time: Duration) {
        failingSince = failingSince.map { $0 + max(time, .zero) }
    }

    /// Adds a random part of up to a tenth to a delay that the server requested.
    package static func lengthened(_ asked: Duration, _ jitter: Double) -> Duration {
        asked + min(asked * (jitter / 10), longestAddition)
    }

    /// Records a restart from the beginning.
    ///
    /// - Returns: Whether it is allowed; false if the server's validator changes too often.
    mutating func restarted() -> Bool {
        restarts += 1
        return restarts <= policy.restarts
    }
}
