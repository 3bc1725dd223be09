internal import ResumeHTTP
public import ResumeStore
internal import Synchronization

/// A download that can be paused and gone on with, as `URLSessionDownloadTask` has it.
///
/// It begins suspended: call ``resume()``.
///
/// ```swift
/// let task = downloader.task(DownloadRequest(url, to: "image.iso"))
/// task.resume()
/// let resumeData = await task.cancelProducingResumeData()  // keep it, in this program or the next one
/// if let resumeData {
///     let again = downloader.task(resuming: resumeData, to: "image.iso")
///     again.resume()
///     print(try await again.value.reusedBytes)
/// }
/// ```
///
/// While it is suspended it has neither a connection nor the lease: others may work on the same download, and the
/// collector takes what is held where the store is over its budget and nothing else is left; the next
/// ``DownloadEvent/damaged(reason:)`` says so. A running task goes on when nobody refers to it any more; one that is
/// suspended then is gone, and what came is kept.
public final class DownloadTask: Sendable {
    /// What a task does.
    public enum State: Sendable, Hashable {
        /// Nothing, until ``DownloadTask/resume()`` is called; what came is recorded.
        case suspended
        /// It downloads, or records what came before it is suspended.
        case running
        /// It records what came before it ends.
        case canceling
        /// It has ended, in whatever way.
        case completed
    }

    private struct Mutable {
        var phase = Phase.suspended
        var request: DownloadRequest
        var run: Task<Void, Never>?
        /// Why the run is stopped.
        var interruption = Interruption()
        /// What keeps the collector from what came, as long as it can; nil before the first run.
        var sign: PausedSign?
        var outcome: Result<DownloadResult, any Error>?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What happens, in order, over all pauses, to its end in whatever way; for one reader.
    ///
    /// A reader who is slow misses progress. Nothing is told twice: ask for this once.
    public let events: AsyncStream<DownloadEvent>

    private let continuation: AsyncStream<DownloadEvent>.Continuation
    private let downloader: Downloader
    private let mutable: Mutex<Mutable>

    init(_ request: DownloadRequest, downloader: Downloader) {
        self.downloader = downloader
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
        mutable = Mutex(Mutable(request: request))
    }

    deinit {
        continuation.finish()
    }

    /// What it does at this moment.
    public var state: State {
        switch mutable.withLock(\.phase) {
        case .suspended: .suspended
        case .running, .interrupted(.toSuspend), .interrupted(.toResume): .running
        case .interrupted(.toCancel): .canceling
        case .finished: .completed
        }
    }

    /// What it ends with; waits for that, also while it is suspended.
    ///
    /// Cancelling the task that waits cancels the download, and keeps what came.
    ///
    /// - Throws: What ``Downloader/download(_:onEvent:)`` throws; `CancellationError` after a cancellation.
    public var value: DownloadResult {
        get async throws {
            try await withTaskCancellationHandler {
                await finished()
            } onCancel: {
                cancel()
            }.get()
        }
    }

    /// Begins, or goes on.
    public func resume() {
        mutable.withLock { if $0.phase.resume() == .begin { begin(&$0) } }
    }

    /// Pauses: ends the request, keeps what came, and gives the lease back.
    ///
    /// ``state`` is ``State/suspended`` when that is done.
    public func suspend() {
        // Outside the lock, since that calls whoever waits for it.
        let run = mutable.withLock { mutable -> Task<Void, Never>? in
            guard mutable.phase.suspend() == .interrupt else { return nil }
            mutable.interruption.set(.paused)
            return mutable.run
        }
        run?.cancel()
    }

    /// Ends it for good, and keeps what came: another task, or another call, goes on from there.
    public func cancel() { cancel(because: .cancelled) }

    private func cancel(because reason: Reason) {
        let run = mutable.withLock { mutable -> Task<Void, Never>? in
            // Also where it is being suspended already.
            mutable.interruption.set(reason)
            switch mutable.phase.cancel() {
            case .interrupt: return mutable.run
            case .finish: finish(&mutable, with: .failure(CancellationError()))
            case .nothing, .begin: break
            }
            return nil
        }
        run?.cancel()
    }

    /// Ends it for good, and tells how to go on later.
    ///
    /// - Returns: nil where it was delivered before, where nothing came, where what came cannot be gone on with, or where
    ///   the store cannot be read: then ``Downloader/resumeData(for:)`` says why.
    public func cancelProducingResumeData() async -> ResumeData? {
        cancel()
        if case .success = await finished() { return nil }
        let request = mutable.withLock(\.request)
        return try? await downloader.resumeData(for: request)
    }

    /// Ends it for good and drops what came, unless somebody else works on it by then.
    ///
    /// - Throws: `StoreError` where that cannot be done.
    public func cancelDiscarding() async throws {
        cancel(because: .cancelledRemoving)
        if case .success = await finished() { return }
        let request = mutable.withLock(\.request)
        try await downloader.store.purge(
            name: request.storeKey, of: RequestIdentity(request.url, request.identityFields), because: .cancelledRemoved
        )
    }

    /// Begins a run; in the lock, so that nobody can interrupt what is not there yet.
    private func begin(_ mutable: inout Mutable) {
        var request = mutable.request
        mutable.interruption = Interruption()
        request.interruption = mutable.interruption
        let isAgain = mutable.sign != nil
        mutable.run = Task { [request] in
            var request = request
            if isAgain { request = await tellingEviction(request) }
            let outcome: Result<DownloadResult, any Error>
            do {
                outcome = .success(
                    try await downloader.download(request) { transfer in
                        transfer.whenClaimed { self.hold($0.pausedSign) }
                    } onEvent: {
                        self.take($0)
                    })
            } catch {
                outcome = .failure(error)
            }
            let resumeData = try? await downloader.resumeData(for: request)
            ended(with: outcome, resumeData)
        }
    }

    /// Keeps the collector from what comes, until this has ended.
    private func hold(_ sign: PausedSign?) { mutable.withLock { $0.sign = sign } }

    /// The request of a later run, which tells what the collector removed since the last one.
    private func tellingEviction(_ request: DownloadRequest) async -> DownloadRequest {
        guard let bytes = try? await downloader.store.evictedBytes(key: request.storeKey) else { return request }
        var request = request
        request.evictedBytes = bytes
        return request
    }

    private func take(_ event: DownloadEvent) {
        // Begun anew as was asked for; the next run goes on with what came of this one.
        switch event {
        case .waiting: break
        case .damaged(let reason) where reason.code == Reason.evicted(0).code: break
        default: mutable.withLock { $0.request.restarts = false }
        }
        continuation.yield(event)
    }

    private func ended(with outcome: Result<DownloadResult, any Error>, _ resumeData: ResumeData?) {
        mutable.withLock { mutable in
            let wasCancelled = mutable.phase == .interrupted(.toCancel)
            let isDelivered = if case .success = outcome { true } else { false }
            // What the next run is to find, if there is one.
            if let resumeData { mutable.request.resumeData = resumeData }
            switch mutable.phase.ended(isDelivered: isDelivered) {
            case .begin: begin(&mutable)
            case .finish:
                finish(&mutable, with: wasCancelled && !isDelivered ? .failure(CancellationError()) : outcome)
            case .nothing, .interrupt: break
            }
        }
    }

    private func finish(_ mutable: inout Mutable, with outcome: Result<DownloadResult, any Error>) {
        mutable.outcome = outcome
        mutable.run = nil
        mutable.sign = nil
        continuation.finish()
        for waiter in mutable.waiters { waiter.resume() }
        mutable.waiters = []
    }

    private func finished() async -> Result<DownloadResult, any Error> {
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
