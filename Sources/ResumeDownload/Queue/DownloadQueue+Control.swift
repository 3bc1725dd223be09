internal import ResumeHTTP
internal import ResumeStore

/// Pausing, cancelling, limits, and the report.
extension DownloadQueue {
    /// Pauses one download: what came is kept, and its callers wait on.
    ///
    /// A further request for it waits as well, unless it is forced.
    ///
    /// - Parameter key: The request's ``DownloadRequest/storeKey``.
    /// - Returns: Whether there is such a download that could be paused; a closed queue has none.
    @discardableResult
    public func pause(_ key: String) -> Bool { stepIfKnown { $0.pause(key) } }

    /// Lets one download that is paused, or has failed, wait for its turn again.
    ///
    /// - Parameter key: The request's ``DownloadRequest/storeKey``.
    /// - Returns: Whether there is one that can go on: not one of an earlier process that needs a request first.
    @discardableResult
    public func resume(_ key: String) -> Bool {
        let isKnown = stepIfKnown { $0.resume(key) }
        if isKnown { live[key]?.failure = nil }
        return isKnown
    }

    /// Pauses everything; further requests wait until ``resumeAll()``.
    public func pauseAll() { stepIfOpen { $0.pauseAll() } }

    /// Goes on with everything, also with what was paused by itself; first with what was running.
    ///
    /// What failed for good stays so until ``resume(_:)``.
    public func resumeAll() { stepIfOpen { $0.resumeAll() } }

    /// Gives up a download for all its callers, who are told so with ``QueueError``.
    ///
    /// Softly: what came is kept, and the next request for it goes on, with its percentage. Hard: what came is dropped
    /// when this returns, unless another process works on it.
    ///
    /// - Parameters:
    ///   - key: The request's ``DownloadRequest/storeKey``.
    ///   - cancellation: Softly or hard.
    /// - Returns: Whether there is such a download.
    @discardableResult
    public func cancel(_ key: String, _ cancellation: QueueCancellation = .soft) async -> Bool {
        let isKnown = stepIfKnown { $0.cancel(key, cancellation) }
        // Also where it was being paused already.
        if isKnown { live[key]?.interruption?.set(interruption(of: key)) }
        if isKnown, state.items[key]?.wish == .dropped {
            await withCheckedContinuation { drops[key, default: []].append($0) }
        }
        return isKnown
    }

    /// Changes how many run at a time; what runs beyond that is paused and waits, what began last first.
    ///
    /// - Parameter maximum: At least 1.
    public func setMaximumRunning(_ maximum: Int) { stepIfOpen { $0.setMaximumRunning(maximum) } }

    /// Changes the highest rate of all downloads together.
    ///
    /// - Parameter rate: In bytes a second; nil for no limit.
    public func setRateLimit(_ rate: Int64?) { limiter.setRate(rate) }

    /// Changes the highest rate of one download, for all who wait for it; it ends with them.
    ///
    /// - Parameters:
    ///   - rate: In bytes a second; nil for no limit.
    ///   - key: The request's ``DownloadRequest/storeKey``.
    /// - Returns: Whether there is such a download, with a request.
    @discardableResult
    public func setRateLimit(_ rate: Int64?, for key: String) -> Bool {
        guard !state.isClosed, let item = live[key] else { return false }
        let requested = item.deliveries.filter { $0.value.request != nil }.keys
        for delivery in requested { live[key]?.deliveries[delivery]?.request?.rateLimit = rate }
        live[key]?.limit()
        step {
            $0.touch(key)
            return []
        }
        return !requested.isEmpty
    }

    /// Forgets what was cancelled softly, for when memory is short.
    ///
    /// What came of it stays on disk, within the budget of the store, and the next request for it goes on all the same.
    public func releaseMemory() async {
        stepIfOpen {
            $0.releaseMemory()
            return []
        }
        await downloader.store.releaseMemory()
    }

    /// What runs, waits, is paused or has failed at this moment; and what the store's collector removed of it.
    public func report() async -> QueueReport {
        await noteEvictions()
        let running = state.running.compactMap { state.items[$0] }
        let waiting = state.waiting.compactMap { state.items[$0] }
        let known = Set((running + waiting).map(\.key))
        let rest = state.items.values.filter { !known.contains($0.key) }.sorted {
            ($0.wish.state.rawValue, $1.rank) < ($1.wish.state.rawValue, $0.rank)
        }
        let hasForced = state.forced.flatMap { state.items[$0]?.isUnderWay } ?? false
        return QueueReport(
            maximumRunning: hasForced ? 1 : state.maximumRunning, isPaused: state.isHeld,
            items: (running + waiting + rest).map(reported))
    }

    /// Looks what the collector of any process has removed since the last time.
    private func noteEvictions() async {
        guard !isReleased else { return }
        let reading = Task {
            if let found = try? await downloader.store.evictedBytes(in: lease) { evicted = found }
        }
        guard isSettling else { return await reading.value }
        // Rows that are being written may wait for another process: then the report does not, and has what was found last.
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let reader = Task {
            await reading.value
            end.finish()
        }
        let patience = Task {
            try? await Task.sleep(for: .milliseconds(250))
            end.finish()
        }
        for await _ in ends {}
        patience.cancel()
        reader.cancel()
    }

    private func reported(_ item: QueueState.Item) -> QueueReport.Item {
        var progress = live[item.key]?.listeners.progress ?? Listeners.Progress()
        let evicted = item.run == nil ? self.evicted[item.key] ?? 0 : 0
        if evicted > 0 { progress.receivedBytes = 0 }
        let isRunning = item.run.map { !$0.isStopping } ?? false
        return QueueReport.Item(
            key: item.key, url: live[item.key]?.url ?? "", destinations: item.deliveries.map(\.destination),
            state: isRunning ? .downloading : item.wish.state, receivedBytes: progress.receivedBytes,
            evictedBytes: evicted, totalBytes: progress.totalBytes, priority: item.priority, isForced: item.isForced,
            callers: item.callers.count, failure: item.failure ?? live[item.key]?.failure)
    }

    /// Waits until nothing runs and nothing waits for its turn; what is paused, by itself or with all, does not count.
    ///
    /// It returns early where its task is cancelled.
    public func waitUntilIdle() async {
        lastIdle += 1
        let number = lastIdle
        await withTaskCancellationHandler {
            await untilIdle(number, isCancellable: true)
        } onCancel: {
            Task { await self.stopWaiting(number) }
        }
    }

    /// How many calls wait for the queue to be idle; for tests.
    package var idleWaiters: Int { idle.count }

    /// Ends the queue: callers are told that it is closed, what runs is paused, and what is still to do stays in the store.
    ///
    /// It is closed when this returns.
    public func close() async {
        step { $0.close() }
        lastIdle += 1
        // Also where the task is cancelled: the lease is held until the last row is written.
        await untilIdle(lastIdle, isCancellable: false)
        guard !isReleased else { return }
        isReleased = true
        lease.release()
    }

    private func stepIfOpen(_ body: (inout QueueState) -> [QueueState.Action]) {
        if !state.isClosed { step { body(&$0) } }
    }

    private func stepIfKnown(_ body: (inout QueueState) -> [QueueState.Action]?) -> Bool {
        var isKnown = false
        stepIfOpen { state in
            let actions = body(&state)
            isKnown = actions != nil
            return actions ?? []
        }
        return isKnown
    }
}

extension QueueState.Wish {
    fileprivate var state: QueueReport.State {
        switch self {
        case .waiting: .waiting
        case .paused: .paused
        case .failed: .failed
        case .cancelled: .cancelled
        case .restored: .restored
        case .dropped: .dropping
        }
    }
}
