import ResumeDownload
import Synchronization

/// The slots of a run, and a task that waits for one.
final class JobSlots: Sendable {
    private let state: Mutex<Slots>
    /// One element at most, after a change of the state.
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ state: Slots) { self.state = Mutex(state) }

    /// Changes the slots, and wakes the task that waits for a change.
    func with<Result>(_ body: (inout Slots) -> Result) -> Result {
        let (result, isNews) = state.withLock { state in
            let before = state.mayAdmit
            let result = body(&state)
            return (result, state.isIdle || state.mayAdmit && !before)
        }
        if isNews { change.yield() }
        return result
    }

    /// Waits until the slots allow something; returns false if the task is cancelled.
    ///
    /// One task calls this.
    func wait(until isReached: (inout Slots) -> Bool) async -> Bool {
        var iterator = changes.makeAsyncIterator()
        while !state.withLock({ isReached(&$0) }) {
            guard await iterator.next() != nil else { return false }
        }
        return true
    }
}
