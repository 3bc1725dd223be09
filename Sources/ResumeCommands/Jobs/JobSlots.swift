import ResumeHTTP
import Synchronization

/// The places of running jobs.
final class JobSlots: Sendable {
    /// How often a job that waits looks for a place, since what opens an origin again is no change of this state.
    private static let interval = Duration.milliseconds(50)

    private let state: Mutex<SlotState>
    private let mayBegin: @Sendable (String) -> Bool
    /// One element at most, after a change.
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Makes the places of a run.
    ///
    /// - Parameters:
    ///   - slots: No jobs yet.
    ///   - mayBegin: Whether a job may begin at an origin.
    init(_ slots: SlotState, mayBegin: @escaping @Sendable (String) -> Bool) {
        state = Mutex(slots)
        self.mayBegin = mayBegin
    }

    /// Changes the state, and wakes who waits for what that allows.
    func with<Result>(_ body: (inout SlotState) -> Result) -> Result {
        let (result, isNews) = state.withLock { state in
            let before = state.mayAdmit
            let result = body(&state)
            return (result, state.isIdle || state.mayAdmit && !before)
        }
        if isNews { change.yield() }
        return result
    }

    /// Waits until the state allows something; returns false if the task is cancelled.
    ///
    /// One task calls this.
    func until(_ isReached: (inout SlotState) -> Bool) async -> Bool {
        var iterator = changes.makeAsyncIterator()
        while !state.withLock({ isReached(&$0) }) {
            guard await iterator.next() != nil else { return false }
        }
        return true
    }

    /// Waits for the place of a job that was admitted or has waited.
    ///
    /// - Parameters:
    ///   - id: The job.
    ///   - url: Its URL.
    ///   - onWait: Called once if the job waits for its origin.
    /// - Returns: False if the task is cancelled.
    @discardableResult
    func enter(_ id: Int64, _ url: DownloadURL, onWait: () -> Void = {}) async -> Bool {
        let origin = url.origin
        var hasWaited = false
        while !Task.isCancelled {
            let mayBegin = mayBegin(origin)
            if with({ $0.start(id, at: url.host, mayBegin: mayBegin) }) { return true }
            if !mayBegin, !hasWaited { onWait() }
            hasWaited = hasWaited || !mayBegin
            try? await Task.sleep(for: Self.interval)
        }
        return false
    }
}
