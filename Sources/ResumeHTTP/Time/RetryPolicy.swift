/// How often requests are repeated, for how long, and after which delays.
public struct RetryPolicy: Sendable, Hashable {
    /// The maximum number of consecutive failures before the first progress; 0 for no retries at all.
    ///
    /// 64 KiB or 1 % of the file count as progress, whichever is less, added up over all attempts.
    public var retries: Int
    /// How long failures are retried after progress, however many there are; zero ends the download at the first one.
    ///
    /// It is also the longest wait that a server may request: if it asks for more, the download ends, and the error says
    /// until when. Only time during which the machine is awake counts.
    public var time: Duration
    /// The first delay; each further one is twice as long.
    public var firstDelay: Duration
    /// The longest delay, unless the server requests a longer one.
    package var longestDelay: Duration
    /// How many times a download may restart from the beginning before the server counts as unstable.
    package var restarts: Int

    /// Creates a policy; the default delays are 0.5, 1, 2, … seconds, at most 30, and the default time is 15 minutes.
    public init(
        retries: Int = 5, time: Duration = .seconds(900), firstDelay: Duration = .milliseconds(500),
        longestDelay: Duration = .seconds(30), restarts: Int = 3
    ) {
        self.retries = max(retries, 0)
        self.time = max(time, .zero)
        self.longestDelay = Self.bounded(longestDelay)
        self.firstDelay = Self.bounded(firstDelay)
        self.restarts = max(restarts, 0)
    }

    /// Limits a delay, which may also have been set later, to a day.
    static func bounded(_ delay: Duration) -> Duration { min(max(delay, .zero), .seconds(86_400)) }
}
