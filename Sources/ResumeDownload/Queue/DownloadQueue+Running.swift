import ResumeHTTP
import ResumeStore

/// Performs the actions of the state machine. Rows are written before the runs that they describe are started.
extension DownloadQueue {
    /// Updates the state machine and performs the actions that it returns.
    ///
    /// - Parameters:
    ///   - outcome: The result of the run whose end is being reported.
    ///   - body: The update.
    func step(
        _ outcome: DownloadOutcome = .failure(DownloadError.cancelledInQueue),
        _ body: (inout QueueState) -> [QueueState.Action]
    ) {
        for action in body(&state) {
            switch action {
            case .start(let key): unstarted.append(key)
            case .stop(let key):
                let work = state.items[key]?.work
                work?.request.interruption?.set(interruption(of: key))
                work?.task.cancel()
            case .drop(let key): Task { await drop(key) }
            case .answer(let callers, let answer):
                let result: DownloadOutcome =
                    switch answer {
                    case .outcome: outcome
                    case .cancelled: .failure(DownloadError.cancelledInQueue)
                    case .left: .failure(CancellationError())
                    case .closed: .failure(DownloadError.queueClosed)
                    }
                for caller in callers { self.answer(caller, with: result) }
            }
        }
        for item in state.running.compactMap({ state.items[$0] }) {
            item.work?.request.rateLimiters.last?.setRate(item.rateLimit)
        }
        settle()
    }

    /// The reason for stopping the run of an item, according to the item's wish.
    func interruption(of key: String) -> Reason {
        switch state.items[key]?.wish {
        case .cancelled: .cancelled
        case .dropping: .cancelledRemoving
        default: .paused
        }
    }

    private func answer(_ caller: QueueState.Caller, with result: DownloadOutcome) {
        guard let waiter = waiters.removeValue(forKey: caller) else { return }
        state.items[waiter.key]?.listeners.remove(caller)
        waiter.continuation.resume(with: result)
    }

    /// Starts a run unless it has been stopped since.
    func launch(_ key: String) {
        guard let item = state.items[key], let run = item.run else { return }
        guard !run.isStopping, let delivery = item[run.delivery], var request = delivery.request
        else {
            return step { $0.ended(key, run: run.number, .stopped) }
        }
        // The working directory may have changed since it was requested.
        request.destination = delivery.destination
        request.queuedRows = delivery.row.map { [JobTable.QueuedRow($0)] } ?? []
        request.rateLimit = nil
        request.rateLimiters = [limiter, RateLimiter(bytesPerSecond: item.rateLimit)]
        request.onPause = { [weak self, url = request.url, patience = request.retryPolicy.time] isPaused in
            if isPaused {
                await self?.change { $0.pause(run.number) }
            } else {
                await self?.waitForPlace(of: run.number, at: url, patience: patience)
            }
        }
        request.interruption = Interruption()
        state.items[key]?.lastFailure = nil
        item.listeners.begin(for: run.callers)
        let listeners = item.listeners
        // Runs outside of the actor so as not to block it.
        let task = Task.detached { [request] in
            await self.announceWaiting(for: key)
            await self.waitForPlace(of: run.number, at: request.url, patience: request.retryPolicy.time)
            var request = request
            request.evictedBytes = await self.takeEvictedBytes(of: key)
            let outcome = await Result { [request] in
                try await self.downloader.download(request) { listeners.tell($0, of: run.delivery) }
            }
            guard await self.ended(key, run, outcome) else { return }
            self.configuration.onFinish?(key, outcome)
            await self.told()
        }
        state.items[key]?.work = (task, request, delivery.version)
    }

    /// Waits until a run has a place, or is stopped.
    private nonisolated func waitForPlace(of run: Int64, at url: DownloadURL, patience: Duration) async {
        _ = await downloader.waitForPlace(at: url, patience: patience) { mayBegin in
            await change { $0.start(run, at: url.host, mayBegin: mayBegin) }
        }
    }

    /// Changes which runs have places, and starts others in those that are free.
    private func change<Result>(_ body: (inout Slots) -> Result) -> Result {
        let before = state.slots.changes
        let result = body(&state.slots)
        if state.slots.changes != before { step { $0.schedule() } }
        return result
    }

    /// Returns and clears the number of bytes that the collector removed of a download that is about to run.
    private func takeEvictedBytes(of key: String) async -> Int64 {
        let bytes = (try? await table.takeEvictedBytes(of: key)) ?? 0
        state.items[key]?.evictedBytes = 0
        if bytes > 0 { state.items[key]?.listeners.reset() }
        // From here on, the lease of the run protects what is stored.
        dropSign(of: key)
        return bytes
    }

    /// Announces destinations that were added during a run, one announcement at a time.
    func announceLater(for key: String) {
        let before = state.items[key]?.announcing
        state.items[key]?.announcing = Task {
            await before?.value
            await announceWaiting(for: key)
        }
    }

    /// Asks the store to keep the delivered file while another destination waits for its copy.
    private func announceWaiting(for key: String) async {
        guard let request = state.items[key]?.request, hasMoreDestinations(key), state.items[key]?.sign == nil else {
            return
        }
        // If this fails, the file is fetched again for the other destination, which is slower but correct.
        let sign = try? await downloader.store.announceWaiting(
            for: request.url, key: request.key, selection: request.selection)
        if hasMoreDestinations(key) { state.items[key]?.sign = sign }
    }

    /// Lets the store remove the delivered file, unless another destination waits for its copy.
    func dropSign(of key: String) {
        if !hasMoreDestinations(key) { state.items[key]?.sign = nil }
    }

    /// Whether there is a delivery besides the current or next one, or whether the current one must run again.
    func hasMoreDestinations(_ key: String) -> Bool {
        guard let item = state.items[key], item.wish != .dropping else { return false }
        let waiting = item.deliveries.filter { $0.isReady && $0.number != item.run?.delivery }
        return waiting.count > (item.run == nil ? 1 : 0) || isOutdated(key)
    }

    /// Whether the current run no longer answers the latest request for its delivery.
    func isOutdated(_ key: String) -> Bool {
        guard let item = state.items[key], let work = item.work, let run = item.run,
            let delivery = item[run.delivery], delivery.version != work.version
        else { return false }
        return delivery.request.map { !$0.isAnswered(by: work.request) } ?? false
    }

    /// Handles the end of a run.
    ///
    /// - Returns: Whether the download has ended too, so that `onFinish` must be called.
    private func ended(_ key: String, _ run: QueueState.Run, _ outcome: DownloadOutcome) -> Bool {
        guard let work = state.items[key]?.work else { return false }
        let wasActive = state.items[key]?.isRunning == true
        if work.request.restarts, state.items[key]?.listeners.progress.hasBegun == true {
            state.items[key]?[run.delivery]?.request?.restarts = false
        }
        let isOutdated = isOutdated(key)
        state.items[key]?.work = nil
        let isEnd = (try? outcome.get()) != nil || wasActive
        if isEnd { telling += 1 }
        switch outcome {
        case .success(let result):
            // The row was removed together with the delivery. If the file was kept, nothing was delivered.
            if !result.isExisting {
                state.items[key]?[run.delivery]?.row = nil
                state.items[key]?[run.delivery]?.rowsDelivered += 1
            }
            step(outcome) { $0.ended(key, run: run.number, isOutdated ? .outdated : .delivered) }
        case .failure(let error):
            if wasActive { state.items[key]?.lastFailure = Reason(for: error) }
            // The sign may refer to an entry that has been replaced.
            state.items[key]?.sign = nil
            let isOfDestination = (error as? StoreError)?.code.isOfDestination ?? false
            let spared = state.items[key]?.deliveries.filter { delivery in
                (delivery.number != run.delivery || delivery.version != work.version)
                    && delivery.request.map { !work.request.fares(like: $0) } ?? true
            }
            let isForGood = (error as? DownloadError)?.code.isForGood ?? false
            step(outcome) {
                $0.ended(
                    key, run: run.number,
                    .failed(
                        isOfDestination: isOfDestination, sparing: Set(spared?.map(\.number) ?? []),
                        forGood: isForGood ? Reason(for: error) : nil))
            }
        }
        return isEnd
    }

    private func told() {
        telling -= 1
        settle()
    }

    /// Removes the partial data of a download.
    private func drop(_ key: String) async {
        // This queue's own sign would protect the data.
        await state.items[key]?.announcing?.value
        state.items[key]?.sign = nil
        // Data that another process uses, or that was fetched with a different request, is kept.
        if let request = state.items[key]?.request {
            _ = try? await Collector(downloader.store).purge(
                name: key, of: request.identity, because: .cancelledRemoved)
        } else {
            _ = try? await Collector(downloader.store).purge(key, because: .cancelledRemoved)
        }
        state.items[key]?.listeners.reset()
        for continuation in state.items[key]?.drops ?? [] { continuation.resume() }
        state.items[key]?.drops = []
        step { $0.dropped(key) }
    }

    func tellIdle() {
        guard telling == 0, state.isIdle else { return }
        for end in idle.values { end.finish() }
    }
}
