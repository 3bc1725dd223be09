internal import ResumeFiles
internal import Synchronization

/// A clock of the store that a history advances.
final class StepClock: Sendable {
    private struct State {
        var now = Duration.zero
        var sleepers: [Int: (deadline: Duration, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var number = 0
    }

    private let state = Mutex(State())

    var storeClock: StoreClock {
        StoreClock(now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep(until: $0) })
    }

    /// The same time, which each wait moves forward.
    var jumpingClock: StoreClock {
        StoreClock(now: { self.state.withLock { $0.now } }) { deadline in
            try Task.checkCancellation()
            self.advance(to: deadline)
        }
    }

    func advance(by duration: Duration) { advance(to: state.withLock { $0.now } + duration) }

    private func advance(to time: Duration) {
        let due = state.withLock { state in
            state.now = max(state.now, time)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Ends all waits, so that no task is left.
    func end() { advance(by: .seconds(1 << 40)) }

    private func sleep(until deadline: Duration) async throws {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let isDue = state.withLock { state in
                    if deadline <= state.now { return true }
                    state.sleepers[number] = (deadline, continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { $0.sleepers.removeValue(forKey: number) }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
    }
}
