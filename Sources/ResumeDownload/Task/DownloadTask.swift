import ResumeHTTP
public import ResumeStore
import Synchronization

/// A download that can be paused and resumed, similar to `URLSessionDownloadTask`.
///
/// Tasks start suspended: call ``resume()``.
///
/// ```swift
/// let task = downloader.makeTask(DownloadRequest(url, to: "image.iso"))
/// task.resume()
/// let resumeData = await task.cancelByProducingResumeData()  // keep it, in this program or the next one
/// if let resumeData {
///     let again = downloader.makeTask(DownloadRequest(resuming: resumeData, to: "image.iso"))
///     again.resume()
///     print(try await again.value.reusedBytes)
/// }
/// ```
///
/// While it is suspended, a task has neither a connection nor a lease, so others may work on the same download. The
/// store's collector removes its partial data only if the store exceeds its limit and nothing else is left to remove;
/// the next ``DownloadEvent/damaged(reason:)`` reports it. A running task continues when the last reference to it is
/// released. A suspended one ends then, and its partial data is kept.
public final class DownloadTask: Sendable {
    /// The state of a task.
    @nonexhaustive
    public enum State: Sendable, Hashable {
        /// Does nothing until ``DownloadTask/resume()`` is called; the received bytes are recorded.
        case suspended
        /// Downloads, or records the received bytes before it is suspended.
        case running
        /// Records the received bytes before it ends.
        case canceling
        /// Has ended, successfully or not.
        case completed
    }

    private struct Mutable {
        var phase = Phase.suspended
        var request: DownloadRequest
        var run: Task<Void, Never>?
        /// Protects the partial data from the collector as long as possible; nil before the first run.
        var sign: Lease?
        var outcome: DownloadOutcome?
        var waiters: [Waiter] = []

        /// Returns the waiters to resume.
        mutating func finish(with outcome: DownloadOutcome) -> [Waiter] {
            self.outcome = outcome
            run = nil
            sign = nil
            defer { waiters = [] }
            return waiters
        }
    }

    private typealias Waiter = CheckedContinuation<Void, Never>

    /// The events of the download, in order, across pauses, until it ends in any way; for one reader.
    ///
    /// Of several progress events in a row, a slow reader gets only the last one; all others arrive.
    public var events: some AsyncSequence<DownloadEvent, Never> & Sendable { stream }
    private let stream: DownloadEvents<Never>

    private let downloader: Downloader
    private let mutable: Mutex<Mutable>

    init(_ request: DownloadRequest, downloader: Downloader) {
        self.downloader = downloader
        stream = DownloadEvents(mailbox: .init())
        mutable = Mutex(Mutable(request: request))
    }

    deinit {
        stream.mailbox.finish()
    }

    /// The current state.
    public var state: State {
        switch mutable.withLock(\.phase) {
        case .suspended: .suspended
        case .running, .interrupted(.toSuspend), .interrupted(.toResume): .running
        case .interrupted(.toCancel): .canceling
        case .finished: .completed
        }
    }

    /// The result; waits until the task has ended, even while it is suspended.
    ///
    /// Cancelling the waiting task cancels the download and keeps its partial data.
    ///
    /// - Throws: The errors of ``Downloader/download(_:onEvent:)``; `CancellationError` after a cancellation.
    public var value: DownloadResult {
        get async throws {
            try await withTaskCancellationHandler {
                await finished()
            } onCancel: {
                cancel()
            }.get()
        }
    }

    /// Starts or resumes the download.
    public func resume() {
        mutable.withLock { if $0.phase.resume() == .begin { begin(&$0) } }
    }

    /// Pauses the download: ends the request, keeps the partial data, and releases the lease.
    ///
    /// ``state`` becomes ``State/suspended`` when that is done.
    public func suspend() {
        // Outside the lock because cancelling runs cancellation handlers.
        let run = mutable.withLock { mutable -> Task<Void, Never>? in
            guard mutable.phase.suspend() == .interrupt else { return nil }
            mutable.request.interruption?.set(.paused)
            return mutable.run
        }
        run?.cancel()
    }

    /// Cancels the download permanently and keeps its partial data, which another task or call can resume.
    public func cancel() { cancel(because: .cancelled) }

    private func cancel(because reason: Reason) {
        let (run, waiters) = mutable.withLock { mutable in
            // Set even if the run is already being suspended.
            mutable.request.interruption?.set(reason)
            let isFinished = mutable.phase.cancel() == .finish
            return (mutable.run, isFinished ? mutable.finish(with: .failure(CancellationError())) : nil)
        }
        run?.cancel()
        if let waiters { finish(waiters) }
    }

    /// Cancels the download permanently and returns the data to resume it later.
    ///
    /// - Returns: nil if the file had been delivered, if nothing was received, if the partial data cannot be resumed,
    ///   or if the store cannot be read, in which case ``Downloader/resumeData(for:)`` throws the error.
    public func cancelByProducingResumeData() async -> ResumeData? {
        guard let request = await cancelled(because: .cancelled) else { return nil }
        return try? await downloader.resumeData(for: request)
    }

    /// Cancels the download permanently and removes its partial data, unless another task or process is using it.
    ///
    /// - Throws: `StoreError` if the data cannot be removed.
    public func cancelDiscarding() async throws {
        guard let request = await cancelled(because: .cancelledRemoving) else { return }
        try await Collector(downloader.store).purge(
            name: request.storeKey, of: request.identity, because: .cancelledRemoved)
    }

    /// Cancels the download.
    ///
    /// - Returns: Its request; nil if the file had been delivered.
    private func cancelled(because reason: Reason) async -> DownloadRequest? {
        cancel(because: reason)
        if case .success = await finished() { return nil }
        return mutable.withLock(\.request)
    }

    /// Starts a run; called with the lock held, so that no interruption is lost before the run exists.
    private func begin(_ mutable: inout Mutable) {
        // Tells the run why it is stopped.
        mutable.request.interruption = Interruption()
        let isAgain = mutable.sign != nil
        mutable.run = Task { [request = mutable.request] in
            var request = request
            // A later run reports what the collector has removed since the previous one.
            if isAgain {
                request.evictedBytes = (try? await downloader.store.evictedBytes(key: request.storeKey)) ?? 0
            }
            let outcome = await Result { [request] in
                try await downloader.download(request) { transfer in
                    transfer.whenClaimed { self.hold($0.pausedSign) }
                } onEvent: {
                    self.take($0)
                }
            }
            let resumeData = try? await downloader.resumeData(for: request)
            ended(with: outcome, resumeData)
        }
    }

    /// Protects the partial data from the collector until the task has ended.
    private func hold(_ sign: Lease?) { mutable.withLock { $0.sign = sign } }

    private func take(_ event: DownloadEvent) {
        // A requested restart has taken place; the next run continues with the data of this one.
        switch event {
        case .waiting: break
        case .damaged(let reason) where reason.code == .evicted: break
        default: mutable.withLock { $0.request.restarts = false }
        }
        stream.mailbox.add(event)
    }

    private func ended(with outcome: DownloadOutcome, _ resumeData: ResumeData?) {
        let waiters = mutable.withLock { mutable -> [Waiter]? in
            let wasCancelled = mutable.phase == .interrupted(.toCancel)
            let isDelivered = if case .success = outcome { true } else { false }
            // The next run, if there is one, checks the store against it.
            if let resumeData { mutable.request.resumeData = resumeData }
            switch mutable.phase.ended(isDelivered: isDelivered) {
            case .begin: begin(&mutable)
            case .finish:
                return mutable.finish(with: wasCancelled && !isDelivered ? .failure(CancellationError()) : outcome)
            case .nothing, .interrupt: break
            }
            return nil
        }
        if let waiters { finish(waiters) }
    }

    /// Ends the events and resumes the waiters.
    ///
    /// Not called with the lock held: resuming a task may wait for its cancellation handler, which takes the lock.
    private func finish(_ waiters: [Waiter]) {
        stream.mailbox.finish()
        for waiter in waiters { waiter.resume() }
    }

    private func finished() async -> DownloadOutcome {
        await withCheckedContinuation { waiter in
            let isFinished = mutable.withLock { mutable in
                if mutable.outcome == nil { mutable.waiters.append(waiter) }
                return mutable.outcome != nil
            }
            if isFinished { waiter.resume() }
        }
        return mutable.withLock(\.outcome) ?? .failure(CancellationError())
    }
}
