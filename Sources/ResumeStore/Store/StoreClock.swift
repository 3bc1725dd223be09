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
    package static let continuous: StoreClock = {
        let start = ContinuousClock.now
        return StoreClock(now: { ContinuousClock.now - start }) { deadline in
            try await Task.sleep(until: start + deadline, clock: .continuous)
        }
    }()
}
