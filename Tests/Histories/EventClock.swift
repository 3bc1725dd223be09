package import ResumeFiles
internal import Synchronization

/// The time of a simulation: it goes on when all that runs has nothing to do but wait.
package final class EventClock: Sendable {
    private struct Sleeper {
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Duration.zero
        var sleepers: [Int: Sleeper] = [:]
        var number = 0
        /// How many tasks of the simulation run or wait.
        var running = 0
        var waited = Duration.zero
        var longest = Duration.zero
        /// Called with the time whenever it goes on.
        var onAdvance: (@Sendable (Duration) -> Void)?
    }

    private let state = Mutex(State())

    /// Makes a clock at the time 0.
    ///
    /// - Parameter onAdvance: Called with the time whenever it goes on.
    package init(onAdvance: (@Sendable (Duration) -> Void)? = nil) { state.withLock { $0.onAdvance = onAdvance } }

    /// The time.
    package var now: Duration { state.withLock { $0.now } }

    /// How long tasks have waited, added up, and the longest wait.
    package var waits: (total: Duration, longest: Duration) { state.withLock { ($0.waited, $0.longest) } }

    /// The clock in the form that requests take.
    package var storeClock: StoreClock { StoreClock(now: { self.now }, sleep: { try await self.sleep(until: $0) }) }

    /// Lets time pass in which nothing runs.
    package func advance(to time: Duration) {
        let tell = state.withLock { state in
            state.now = max(state.now, time)
            return state.onAdvance
        }
        tell?(now)
    }

    /// Announces parts of the simulation: the time goes on only when each of them waits or has ended.
    package func begin(_ count: Int) { state.withLock { $0.running += count } }

    /// Ends a part of the simulation.
    package func end() {
        state.withLock { $0.running -= 1 }
        goOn()
    }

    private func sleep(until deadline: Duration) async throws {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    let wait = max(deadline - state.now, .zero)
                    state.waited += wait
                    state.longest = max(state.longest, wait)
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                }
                goOn()
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Wakes the task that is due first if all wait.
    private func goOn() {
        let (sleeper, tell, now) = state.withLock { state in
            guard state.sleepers.count >= state.running,
                let first = state.sleepers.min(by: { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) })
            else { return (Sleeper?.none, state.onAdvance, state.now) }
            state.sleepers[first.key] = nil
            state.now = max(state.now, first.value.deadline)
            return (first.value, state.onAdvance, state.now)
        }
        guard let sleeper else { return }
        tell?(now)
        sleeper.continuation.resume()
    }
}
