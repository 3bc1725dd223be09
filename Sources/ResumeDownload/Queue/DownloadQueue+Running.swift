internal import ResumeHTTP
internal import ResumeStore

/// How what the state machine says is done: rows first, then what they stand for.
extension DownloadQueue {
    /// Tells the state machine something, and does what it says.
    ///
    /// - Parameters:
    ///   - outcome: How the run ended that it is told of.
    ///   - body: Tells it.
    func step(
        _ outcome: Result<DownloadResult, any Error> = .failure(QueueError.cancelled),
        _ body: (inout QueueState) -> [QueueState.Action]
    ) {
        for action in body(&state) {
            switch action {
            case .start(let key, let run): starts.append((key, run))
            case .stop(let key): live[key]?.task?.cancel()
            case .drop(let key): Task { await drop(key) }
            case .answer(let callers, let answer):
                let result: Result<DownloadResult, any Error> =
                    switch answer {
                    case .outcome: outcome
                    case .cancelled: .failure(QueueError.cancelled)
                    case .left: .failure(CancellationError())
                    case .closed: .failure(QueueError.closed)
                    }
                for caller in callers { self.answer(caller, with: result) }
            }
        }
        settle()
    }

    private func answer(_ caller: QueueState.Caller, with result: Result<DownloadResult, any Error>) {
        guard let waiter = waiters.removeValue(forKey: caller) else { return }
        live[waiter.key]?.listeners.remove(caller)
        waiter.continuation.resume(with: result)
    }

    private var hasWork: Bool {
        state.hasChanges || !starts.isEmpty || !recording.isEmpty
    }

    /// Records what has changed and starts what may run, unless that is under way.
    private func settle() {
        guard !isSettling else { return }
        guard hasWork else { return tellIdle() }
        isSettling = true
        Task {
            while hasWork { await settleOnce() }
            isSettling = false
            tellIdle()
        }
    }

    private func settleOnce() async {
        let (starts, recording) = (starts, recording)
        (self.starts, self.recording) = ([], [])
        let failure = await record()
        for start in starts { launch(start.key, start.run) }
        for continuation in recording {
            if let failure { continuation.resume(throwing: failure) } else { continuation.resume() }
        }
    }

    /// Waits until everything is recorded.
    func recorded() async throws {
        try await withCheckedThrowingContinuation { continuation in
            recording.append(continuation)
            settle()
        }
    }

    /// Brings the rows up to what the state is, in one transaction.
    ///
    /// - Returns: Why that was not possible: then what had no row yet is let go, and the rest is tried with the next
    ///   change.
    private func record() async -> (any Error)? {
        let keys = state.takeChanges().union(unrecorded)
        unrecorded = []
        var requests: [QueuedRequest] = []
        for key in keys {
            let rows = rows(of: key)
            let wanted = Set(rows.map(\.destination))
            for (destination, row) in live[key]?.rows ?? [:] where !wanted.contains(destination) {
                if let id = row.id { removals.insert(id) }
                live[key]?.rows[destination] = nil
            }
            for destination in live[key]?.requests.keys ?? [:].keys where !wanted.contains(destination) {
                live[key]?.requests[destination] = nil
            }
            if wanted.count < 2 { live[key]?.sign = nil }
            requests += rows.filter { $0 != live[key]?.rows[$0.destination] }
            if state.items[key] == nil { live[key] = nil }
        }
        guard !requests.isEmpty || !removals.isEmpty else { return nil }
        let removed = removals
        do {
            let ids = try await downloader.store.record(requests, removing: removed, in: lease)
            removals.subtract(removed)
            for (var request, id) in zip(requests, ids) {
                request.id = id
                live[request.key]?.rows[request.destination] = request
            }
            return nil
        } catch {
            unrecorded = keys
            for key in Set(requests.filter { $0.id == nil }.map(\.key)) {
                step(.failure(error)) { $0.reject(key) }
            }
            return error
        }
    }

    /// Starts a run, unless it was stopped meanwhile.
    private func launch(_ key: String, _ run: QueueState.Run) {
        guard state.isActive(key, run: run.number), var request = live[key]?.requests[run.destination],
            let listeners = live[key]?.listeners, let own = live[key]?.limiter
        else {
            return step { $0.ended(key, run: run.number, .stopped) }
        }
        request.queuedRow = live[key]?.rows[run.destination]?.id
        request.rateLimit = nil
        request.rateLimiters = [limiter, own]
        let (downloader, onFinish) = (downloader, configuration.onFinish)
        // Away from the actor, which others wait for.
        live[key]?.task = Task.detached { [request] in
            await self.announceWaiting(for: key)
            let outcome: Result<DownloadResult, any Error>
            do {
                outcome = .success(
                    try await downloader.download(request) { listeners.tell($0, of: run.destination) })
            } catch {
                outcome = .failure(error)
            }
            guard await self.ended(key, run, outcome) else { return }
            onFinish?(key, outcome)
            await self.told()
        }
    }

    /// Keeps what is delivered in the store while another destination waits for its copy.
    func announceWaiting(for key: String) async {
        guard let request = live[key]?.requests.values.first, hasMoreDestinations(key) else {
            live[key]?.sign = nil
            return
        }
        guard live[key]?.sign == nil else { return }
        // Without it the copy is fetched again, and is right all the same.
        let sign = try? await downloader.store.announceWaiting(
            for: request.url, key: request.key, selection: request.selection)
        if hasMoreDestinations(key) { live[key]?.sign = sign }
    }

    private func hasMoreDestinations(_ key: String) -> Bool {
        state.items[key].map { $0.deliveries.filter(\.isReady).count > 1 } ?? false
    }

    /// Takes note of the end of a run.
    ///
    /// - Returns: Whether it is an end of the download, too, which is to be told.
    private func ended(_ key: String, _ run: QueueState.Run, _ outcome: Result<DownloadResult, any Error>) -> Bool {
        live[key]?.task = nil
        let wasActive = state.isActive(key, run: run.number)
        if live[key]?.listeners.progress.hasBegun == true { live[key]?.requests[run.destination]?.restarts = false }
        let isEnd = (try? outcome.get()) != nil || wasActive
        if isEnd { telling += 1 }
        switch outcome {
        case .success:
            // Its row went with the delivery.
            live[key]?.rows[run.destination] = nil
            step(outcome) { $0.ended(key, run: run.number, .delivered) }
        case .failure(let error):
            if wasActive { live[key]?.failure = Reason(for: error) }
            let isOfDestination = (error as? StoreError)?.code == .destination
            step(outcome) { $0.ended(key, run: run.number, .failed(isOfDestination: isOfDestination)) }
        }
        return isEnd
    }

    private func told() {
        telling -= 1
        step { _ in [] }
    }

    /// Drops what came of a download.
    private func drop(_ key: String) async {
        // What another process uses stays, as it is wanted there.
        _ = try? await downloader.store.purge(key: key)
        live[key]?.listeners.reset()
        for continuation in drops.removeValue(forKey: key) ?? [] { continuation.resume() }
        step { $0.dropped(key) }
    }

    private func tellIdle() {
        guard telling == 0, state.isIdle || state.isClosed && state.running.isEmpty && !state.isDropping else { return }
        let waiting = idle
        idle = []
        for continuation in waiting { continuation.resume() }
    }
}
