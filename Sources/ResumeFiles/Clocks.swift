import Synchronization

/// The monotonic clock that decides when received bytes are recorded and synced.
///
/// Tests replace it with a clock that they advance themselves.
package struct StoreClock: Sendable {
    /// The time since a fixed moment.
    package let now: @Sendable () -> Duration
    /// Waits until a time of this clock, or throws `CancellationError`.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// Creates a clock.
    package init(now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }

    /// The system's clock, which also advances while the machine sleeps.
    package static let continuous = StoreClock(ContinuousClock())

    /// The system's clock, which stands still while the machine sleeps (`CLOCK_MONOTONIC` on Linux).
    package static let awake = StoreClock(SuspendingClock())

    private init(_ clock: some Clock<Duration>) {
        let start = clock.now
        self.init(now: { start.duration(to: clock.now) }) { deadline in
            try await Task.sleep(until: start.advanced(by: deadline), clock: clock)
        }
    }
}

/// The time of day in milliseconds since the epoch.
///
/// Used for displayed times and for eviction; no decision about bytes depends on it.
package enum WallClock {
    #if DEBUG
    /// How far a test that simulates days has set the time ahead, in milliseconds.
    private static let ahead = Atomic<Int64>(0)

    /// Sets the time of this process ahead.
    package static func setAhead(_ duration: Duration) {
        ahead.store(duration.components.seconds &* 1000, ordering: .relaxed)
    }
    #endif

    /// The days since 1970.
    package static var day: Int64 { milliseconds / 86_400_000 }

    package static var milliseconds: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        let now = Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        #if DEBUG
        return now &+ ahead.load(ordering: .relaxed)
        #else
        return now
        #endif
    }

    /// Returns the time of day after a number of seconds, in UTC and in the format of RFC 3339.
    package static func text(afterSeconds seconds: Int64) -> String {
        var parts = unsafe tm()
        var time = time_t((milliseconds / 1000).addingReportingOverflow(seconds).partialValue)
        unsafe gmtime_r(&time, &parts)
        var text = [UInt8](repeating: 0, count: 40)
        let count = unsafe text.withUnsafeMutableBytes {
            unsafe strftime($0.baseAddress, 40, "%Y-%m-%dT%H:%M:%SZ", &parts)
        }
        return String(decoding: text.prefix(count), as: UTF8.self)
    }
}
