import Synchronization

/// A rate limit for one download, or shared by several.
package final class RateLimiter: Sendable {
    private let schedule: Mutex<Schedule>

    /// Makes a limit.
    ///
    /// - Parameter rate: In bytes per second; nil, 0 or less is no limit.
    package init(bytesPerSecond rate: Int64?) {
        schedule = Mutex(Schedule(rate: rate ?? 0, now: .now))
    }

    /// Changes the limit; waiting receivers notice within a moment.
    package func setRate(_ rate: Int64?) {
        schedule.withLock { $0.setRate(rate ?? 0, now: .now) }
    }

    /// Whether there is currently a limit.
    var isLimiting: Bool { schedule.withLock(\.isLimiting) }

    /// Records received bytes.
    ///
    /// - Returns: The ticket, and whether its holder must wait; nil if there is no limit.
    fileprivate func take(_ count: Int) -> (ticket: Double, waits: Bool)? {
        schedule.withLock { schedule in
            guard schedule.isLimiting else { return nil }
            let now = ContinuousClock.now
            let ticket = schedule.take(Int64(count), now: now)
            return (ticket, schedule.delay(of: ticket, now: now) != nil)
        }
    }

    fileprivate func delay(of ticket: Double) -> Duration? {
        schedule.withLock { $0.delay(of: ticket, now: .now) }
    }

    /// The schedule of a rate limit: computes how many bytes may have been received by when, without a clock.
    ///
    /// Each receiver of bytes gets a ticket, the sum of all bytes taken so far, and may receive more once that many bytes
    /// are granted. So receivers that share a limit take turns in order, and the rate may change at any time.
    struct Schedule {
        typealias Instant = ContinuousClock.Instant

        /// The time whose bytes may be received at once after a pause, in seconds.
        private static let allowance = 0.1

        private var rate: Double
        var isLimiting: Bool { rate > 0 }
        private var taken = 0.0
        private var granted = 0.0
        private var time: Instant

        /// Makes a schedule with a rate in bytes per second; 0 or less is no limit.
        init(rate: Int64, now: Instant) {
            self.rate = Double(max(rate, 0))
            time = now
        }

        mutating func setRate(_ rate: Int64, now: Instant) {
            advance(to: now)
            self.rate = Double(max(rate, 0))
        }

        /// Records received bytes.
        ///
        /// - Returns: The ticket for them.
        mutating func take(_ count: Int64, now: Instant) -> Double {
            advance(to: now)
            taken += Double(count)
            return taken
        }

        /// Returns how long the holder of a ticket must wait; nil if it need not.
        mutating func delay(of ticket: Double, now: Instant) -> Duration? {
            advance(to: now)
            guard rate > 0, ticket > granted else { return nil }
            return .seconds(min((ticket - granted) / rate, 86_400))
        }

        private mutating func advance(to now: Instant) {
            let seconds = max((now - time) / .seconds(1), 0)
            time = max(time, now)
            granted = rate > 0 ? min(granted + rate * seconds, taken + rate * Self.allowance) : taken
        }
    }
}

/// Applies rate limits to one body.
final class RatePace: Sendable {
    private let limiters: [RateLimiter]
    /// One ticket for each limit; 0 does not wait.
    private let tickets: Mutex<[Double]>

    /// The longest sleep at a time, since the rate may change during it.
    private static let longestSleep = Duration.milliseconds(200)

    init(_ limiters: [RateLimiter]) {
        self.limiters = limiters
        tickets = Mutex(limiters.map { _ in 0 })
    }

    /// Records received bytes.
    ///
    /// - Returns: Whether more may be received at once.
    func allowsMore(after count: Int) -> Bool {
        var allows = true
        for (index, limiter) in limiters.enumerated() {
            guard let taken = limiter.take(count) else { continue }
            tickets.withLock { $0[index] = taken.ticket }
            if taken.waits { allows = false }
        }
        return allows
    }

    /// Waits until more bytes may be received.
    func wait() async throws {
        for (index, limiter) in limiters.enumerated() {
            while let delay = limiter.delay(of: tickets.withLock { $0[index] }) {
                try await Task.sleep(for: min(delay, Self.longestSleep))
            }
        }
    }
}
