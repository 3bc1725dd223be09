internal import Synchronization

/// How many bytes may have come by when: the arithmetic of a limit on the rate, without a clock.
///
/// Whoever has received bytes gets a ticket, the sum of all that was taken so far, and may receive more once as much is
/// granted. So those who share a limit get their turns in order, and a rate may change at any time.
package struct RateSchedule: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// What may be caught up after a pause, in seconds.
    private static let allowance = 0.1

    private var rate: Double
    private var taken = 0.0
    private var granted = 0.0
    private var time: Instant

    /// Makes a schedule with a rate in bytes a second; 0 or less is no limit.
    package init(rate: Int64, now: Instant) {
        self.rate = Double(max(rate, 0))
        time = now
    }

    package mutating func setRate(_ rate: Int64, now: Instant) {
        advance(to: now)
        self.rate = Double(max(rate, 0))
    }

    /// Takes note of bytes that came.
    ///
    /// - Returns: The ticket of who received them.
    package mutating func take(_ count: Int64, now: Instant) -> Double {
        advance(to: now)
        taken += Double(count)
        return taken
    }

    /// How long the holder of a ticket has to wait; nil where he need not.
    package mutating func delay(of ticket: Double, now: Instant) -> Duration? {
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

/// A limit on the rate of one download, or of several that share it.
final class RateLimiter: Sendable {
    private let schedule: Mutex<RateSchedule>
    private let limits: Atomic<Bool>

    /// Makes a limit.
    ///
    /// - Parameter rate: In bytes a second; nil, 0 or less is no limit.
    init(bytesPerSecond rate: Int64?) {
        schedule = Mutex(RateSchedule(rate: rate ?? 0, now: .now))
        limits = Atomic((rate ?? 0) > 0)
    }

    /// Changes the limit; who waits is told within a moment.
    func setRate(_ rate: Int64?) {
        schedule.withLock { $0.setRate(rate ?? 0, now: .now) }
        limits.store((rate ?? 0) > 0, ordering: .relaxed)
    }

    /// Whether there is a limit at present.
    var isLimiting: Bool { limits.load(ordering: .relaxed) }

    /// Takes note of bytes that came.
    ///
    /// - Returns: The ticket, and whether its holder has to wait.
    fileprivate func take(_ count: Int) -> (ticket: Double, waits: Bool) {
        schedule.withLock { schedule in
            let now = ContinuousClock.now
            let ticket = schedule.take(Int64(count), now: now)
            return (ticket, schedule.delay(of: ticket, now: now) != nil)
        }
    }

    fileprivate func delay(of ticket: Double) -> Duration? {
        schedule.withLock { $0.delay(of: ticket, now: .now) }
    }
}

/// One body under its limits.
final class RatePace: Sendable {
    private let limiters: [RateLimiter]
    /// One for each limit; 0 waits for nothing.
    private let tickets: Mutex<[Double]>

    /// Nobody who waits sleeps longer than this at a time, since the rate may change meanwhile.
    private static let longestSleep = Duration.milliseconds(200)

    init(_ limiters: [RateLimiter]) {
        self.limiters = limiters
        tickets = Mutex(limiters.map { _ in 0 })
    }

    /// Takes note of bytes that came.
    ///
    /// - Returns: Whether more may come at once.
    func allowsMore(after count: Int) -> Bool {
        guard limiters.contains(where: \.isLimiting) else { return true }
        return tickets.withLock { tickets in
            var allows = true
            for (index, limiter) in limiters.enumerated() where limiter.isLimiting {
                let taken = limiter.take(count)
                tickets[index] = taken.ticket
                if taken.waits { allows = false }
            }
            return allows
        }
    }

    /// Waits until more may come.
    func wait() async throws {
        for (index, limiter) in limiters.enumerated() {
            while limiter.isLimiting, let delay = limiter.delay(of: tickets.withLock { $0[index] }) {
                try await Task.sleep(for: min(delay, Self.longestSleep))
            }
        }
    }
}
