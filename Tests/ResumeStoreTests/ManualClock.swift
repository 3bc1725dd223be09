import ResumeFiles
import ResumeStore
import Synchronization
import TestSupport

/// A clock that advances only when a test advances it.
final class ManualClock: Sendable {
    private struct Sleeper {
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var lastNumber = 0
    }

    private let state = Mutex(State())

    /// The clock in the form that a store takes.
    var storeClock: StoreClock {
        StoreClock(now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep(until: $0) })
    }

    /// Advances the clock and wakes each sleeper that is due.
    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits until something sleeps that wakes within the given time of this clock.
    ///
    /// - Throws: `Shell.Failure` if that does not happen within two minutes of real time.
    func untilSomethingSleeps(within duration: Duration) async throws {
        let end = ContinuousClock.now + .seconds(120)
        while !state.withLock({ state in state.sleepers.values.contains { $0.deadline <= state.now + duration } }) {
            guard ContinuousClock.now < end else {
                throw Shell.Failure(description: "Nothing sleeps that wakes within \(duration).")
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func sleep(until deadline: Duration) async throws {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    if deadline <= state.now { return .success(()) }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
