public import ResumeHTTP
import ResumeStore

/// Pausing, cancelling, limits, and the report.
extension DownloadQueue {
    /// Pauses one download.
    ///
    /// Its partial data is kept, and its callers keep waiting.
    ///
    /// Further requests for it wait as well, unless they are forced.
    ///
    /// - Parameter download: The request, its key, or its URL.
    /// - Returns: Whether there is such a download that can be paused; always false if the queue is closed.
    @discardableResult
    public func pause(_ download: some DownloadKeyConvertible) -> Bool {
        let key = download.downloadKey.rawValue
        return stepIfKnown { $0.pause(key) }
    }

    /// Queues a download again that is paused or has failed.
    ///
    /// - Parameter download: The request, its key, or its URL.
    /// - Returns: Whether there is one that can continue. A download of an earlier process may need a request first.
    @discardableResult
    public func resume(_ download: some DownloadKeyConvertible) -> Bool {
        let key = download.downloadKey.rawValue
        let isKnown = stepIfKnown { $0.resume(key) }
        if isKnown { state.items[key]?.lastFailure = nil }
        return isKnown
    }

    /// Pauses all downloads and keeps their partial data; none starts until ``resumeAll()``.
    public func pauseAll() { stepIfOpen { $0.pauseAll() } }

    /// Resumes everything, including downloads that were paused individually; those that were running come first.
    ///
    /// Downloads that failed permanently stay failed until ``resume(_:)``.
    public func resumeAll() { stepIfOpen { $0.resumeAll() } }

    /// Cancels a download for all its callers, which get a `DownloadError`.
    ///
    /// With `.keepingPartial`, the next request resumes it. `.discardingPartial` removes the partial data before this
    /// returns, unless another process is using it.
    ///
    /// - Parameters:
    ///   - download: The request, its key, or its URL.
    ///   - cancellation: Whether to keep the partial data.
    /// - Returns: Whether there is such a download.
    @discardableResult
    public func cancel(
        _ download: some DownloadKeyConvertible, _ cancellation: Cancellation = .keepingPartial
    ) async -> Bool {
        let key = download.downloadKey.rawValue
        let isKnown = stepIfKnown { $0.cancel(key, cancellation) }
        // Set even if the run is already being paused.
        if isKnown { state.items[key]?.work?.request.interruption?.set(interruption(of: key)) }
        if isKnown, state.items[key]?.wish == .dropping {
            await withCheckedContinuation { state.items[key]?.drops.append($0) }
        }
        return isKnown
    }

    /// Changes how many downloads run at a time.
    ///
    /// Surplus ones are stopped, most recent first, and wait for their turn.
    ///
    /// - Parameter maximum: At least 1.
    public func setMaximumRunning(_ maximum: Int) { stepIfOpen { $0.setMaximumRunning(maximum) } }

    /// Changes the rate limit for all downloads together.
    ///
    /// - Parameter rate: In bytes per second; nil for no limit.
    public func setRateLimit(_ rate: Int64?) { limiter.setRate(rate) }

    /// Changes the rate limit of one download for its present requests; it ends with them.
    ///
    /// - Parameters:
    ///   - rate: In bytes per second; nil for no limit.
    ///   - download: The request, its key, or its URL.
    /// - Returns: Whether there is such a download that has a request.
    @discardableResult
    public func setRateLimit(_ rate: Int64?, for download: some DownloadKeyConvertible) -> Bool {
        let key = download.downloadKey.rawValue
        guard state.items[key]?.request != nil else { return false }
        return stepIfKnown {
            $0.update(key) { $0.forEachDelivery { $0.request?.rateLimit = rate } }
            return $0.takeActions()
        }
    }

    /// Forgets downloads that were cancelled softly and frees memory; call it when memory is low.
    ///
    /// Their partial data stays on disk within the store's size limit, and the next request still resumes it.
    public func releaseMemory() async {
        stepIfOpen { $0.releaseMemory() }
        await downloader.store.releaseMemory()
    }

    /// Returns what runs, waits, is paused or has failed at this moment, and what the store's collector removed of it.
    public func report() async -> Report {
        await noteEvictions()
        let inLine = (state.running + state.waiting).compactMap { state.items[$0] }
        let known = Set(inLine.map(\.key))
        let rest = state.items.values.filter { !known.contains($0.key) }.sorted {
            ($0.wish.rawValue, $1.place.rank) < ($1.wish.rawValue, $0.place.rank)
        }
        let hasForced = state.forced.flatMap { state.items[$0]?.isUnderWay } ?? false
        return Report(
            maximumRunning: hasForced ? 1 : state.slots.count, isPaused: state.isHeld,
            items: (inLine + rest).map(reported))
    }

    /// Reads what the collector of any process has removed since the last call.
    private func noteEvictions() async {
        // A write of rows may be waiting for another process. Then the report uses the previous values.
        for _ in 0..<25 where isSettling { try? await Task.sleep(for: .milliseconds(10)) }
        guard !isReleased, !isSettling, let found = try? await table.evictedBytes() else { return }
        for key in state.items.keys { state.items[key]?.evictedBytes = found[key] ?? 0 }
    }

    private func reported(_ item: QueueState.Item) -> Report.Item {
        var progress = item.listeners.progress
        let evicted = item.run == nil ? item.evictedBytes : 0
        if evicted > 0 { progress.receivedBytes = 0 }
        return Report.Item(
            key: item.key, url: item.url, destinations: item.deliveries.map(\.destination),
            state: item.isRunning ? .downloading : item.wish, receivedBytes: progress.receivedBytes,
            evictedBytes: evicted, totalBytes: progress.totalBytes, priority: item.place.priority,
            isExclusive: state.forced == item.key, callers: item.callers.count,
            failure: item.failure ?? item.lastFailure)
    }

    /// Waits until nothing runs and nothing waits for its turn; paused downloads do not count.
    ///
    /// Returns early if its task is cancelled.
    public func waitUntilIdle() async {
        let number = state.newNumber()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        idle[number] = end
        settle()
        for await _ in ends {}
        idle[number] = nil
    }

    /// Closes the queue.
    ///
    /// Callers get an error, running downloads are paused, and unfinished ones stay in the store.
    ///
    /// The queue is closed when this returns.
    public func close() async {
        step { $0.close() }
        // In a task that is not cancelled with this one: the queue is held until the last row is written.
        await Task { await waitUntilIdle() }.value
        guard !isReleased else { return }
        isReleased = true
        table.close()
    }

    private func stepIfOpen(_ body: (inout QueueState) -> [QueueState.Action]) {
        if !state.isClosed { step { body(&$0) } }
    }

    private func stepIfKnown(_ body: (inout QueueState) -> [QueueState.Action]?) -> Bool {
        guard !state.isClosed, let actions = body(&state) else { return false }
        step { _ in actions }
        return true
    }
}
