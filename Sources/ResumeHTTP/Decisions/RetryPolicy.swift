/// How often requests are repeated, and after which delays.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of consecutive failures without a byte of progress.
    public var retries: Int
    /// The first delay; each further one is twice as long.
    public var firstDelay: Duration
    /// The longest delay, unless the server requests a longer one.
    public var longestDelay: Duration
    /// How many times a download may restart from the beginning before the server counts as unstable.
    public var restarts: Int

    /// Creates a policy; the default delays are 0.5, 1, 2, … seconds, at most 30.
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
    static func bounded(_ delay: Duration) -> Duration { min(max(delay, .zero), .seconds(86_400)) }
}
