import ResumeDownload
import ResumeFiles
import ResumeHTTP
import Synchronization

extension JobRun {
    /// The places of running jobs, and a task that waits for one.
    final class Slots: Sendable {
        private let state: Mutex<SlotState>
        /// One element at most, after a change of the state.
        private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        init(_ state: SlotState) { self.state = Mutex(state) }

        /// Changes the slots, and wakes the task that waits for a change.
        func with<Result>(_ body: (inout SlotState) -> Result) -> Result {
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
        func wait(until isReached: (inout SlotState) -> Bool) async -> Bool {
            var iterator = changes.makeAsyncIterator()
            while !state.withLock({ isReached(&$0) }) {
                guard await iterator.next() != nil else { return false }
            }
            return true
        }
    }
}

extension JobRun {
    /// How often a job that waits looks for a place, since what opens an origin again is no change of this state.
    private static let interval = Duration.milliseconds(50)

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
            let mayBegin = downloader.origins.with(origin) {
                $0.mayBegin(at: StoreClock.awake.now(), patience: patience)
            }
            if slots.with({ $0.start(id, at: url.host, mayBegin: mayBegin) }) { return true }
            if !mayBegin, !hasWaited { onWait() }
            hasWaited = hasWaited || !mayBegin
            try? await Task.sleep(for: Self.interval)
        }
        return false
    }
}
