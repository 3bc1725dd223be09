internal import ResumeDownload
internal import Synchronization

/// The places of running jobs, and how jobs have ended.
final class JobSlots: Sendable {
    /// How often a job that waits looks for a place, since what opens an origin again is no change of this state.
    private static let interval: Duration = .milliseconds(50)

    private let shared: Mutex<(slots: SlotState, failures: [ExitStatus])>
    private let mayBegin: @Sendable (String) -> Bool
    /// One element at most, after a change.
    private let (changes, change) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// Makes the places of a run.
    ///
    /// - Parameters:
    ///   - slots: No jobs yet.
    ///   - mayBegin: Whether a job may begin at an origin.
    init(_ slots: SlotState, mayBegin: @escaping @Sendable (String) -> Bool) {
        shared = Mutex((slots, []))
        self.mayBegin = mayBegin
    }

    /// The statuses of failed jobs.
    var failures: [ExitStatus] { shared.withLock { $0.failures } }

    /// Changes the state.
    func with<Result>(_ body: (inout SlotState) -> Result) -> Result {
        defer { change.yield() }
        return shared.withLock { body(&$0.slots) }
    }

    /// Waits until the state allows something; returns false if the task is cancelled.
    ///
    /// One task calls this.
    func until(_ isReached: (inout SlotState) -> Bool) async -> Bool {
        var iterator = changes.makeAsyncIterator()
        while !shared.withLock({ isReached(&$0.slots) }) {
            guard await iterator.next() != nil else { return false }
        }
        return true
    }

    /// Waits for the place of a job that was admitted or has waited; returns false if the task is cancelled.
    ///
    /// The closure is called once if the job waits for its origin.
    @discardableResult
    func enter(_ id: Int64, _ request: DownloadRequest, onWait: (() -> Void)? = nil) async -> Bool {
        let (host, origin) = (request.url.host, request.url.origin)
        var onWait = onWait
        while !Task.isCancelled {
            let mayBegin = mayBegin(origin)
            if with({ $0.starts(id, at: host, mayBegin: mayBegin) }) { return true }
            if !mayBegin {
                onWait?()
                onWait = nil
            }
            try? await Task.sleep(for: Self.interval)
        }
        return false
    }

    /// Records the failure of a download that was not started.
    func failed(with failure: ExitStatus) { shared.withLock { $0.failures.append(failure) } }

    /// Records that a job has ended, with the status of the failure, or nil if the file was delivered.
    func ended(_ id: Int64, with failure: ExitStatus?) {
        if let failure { failed(with: failure) }
        with { $0.end(id) }
    }
}
