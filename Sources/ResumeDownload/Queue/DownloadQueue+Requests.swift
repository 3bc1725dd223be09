internal import ResumeHTTP
internal import ResumeStore

/// How requests are taken.
extension DownloadQueue {
    /// The place of a request in the queue.
    ///
    /// Nothing is looked at on disk here, so that requests are taken in the order in which they come.
    func checked(
        _ request: DownloadRequest, caller: QueueState.Caller? = nil, priority: QueuePriority, isForced: Bool = false
    ) throws -> QueueState.Addition {
        guard !state.isClosed else { throw QueueError.closed }
        let destination = try Destination(request.destination).path
        let key = request.storeKey
        if let item = state.items[key], item.wish != .cancelled, item.wish != .dropped {
            for other in live[key]?.requests.values ?? [:].values { try request.requireAgreement(with: other) }
            let running = item.run.flatMap { $0.destination == destination ? live[key]?.requests[destination] : nil }
            if let running, running.digest == nil, request.digest != nil {
                throw QueueError(
                    .conflict,
                    "The download of \(Printable.escaped(key)) runs already, without the digest that is "
                        + "asked for now. Wait for its end, or name another destination.")
            }
        }
        return QueueState.Addition(key, to: destination, caller: caller, priority: priority, isForced: isForced)
    }

    /// Takes a request that was checked.
    func take(_ request: DownloadRequest, for addition: QueueState.Addition) {
        let key = addition.key
        if live[key] == nil {
            live[key] = Live(
                url: request.url.redacted, listeners: Listeners(), limiter: RateLimiter(bytesPerSecond: nil))
        }
        var request = request
        // The working folder may be another one by then.
        request.destination = addition.destination
        request.digest = request.digest ?? live[key]?.requests[addition.destination]?.digest
        if let rate = request.rateLimit { live[key]?.limiter.setRate(rate) }
        live[key]?.url = request.url.redacted
        live[key]?.requests[addition.destination] = request
        live[key]?.failure = nil
    }

    /// Takes those off the list of what an earlier process left that there are requests for now.
    func strike(_ additions: [QueueState.Addition]) {
        guard !restored.isEmpty else { return }
        let places = Set(additions.map(\.place))
        restored.removeAll { places.contains(QueueState.Addition($0.key, to: $0.destination).place) }
    }

    /// The rows that an item should have, one for each destination.
    func rows(of key: String) -> [QueuedRequest] {
        guard let item = state.items[key], let live = live[key] else { return [] }
        let isPaused = item.wish == .paused
        let isRunning = item.run.map { !$0.isStopping } ?? false
        return item.deliveries.map { delivery in
            var row = QueuedRequest(
                id: live.rows[delivery.destination]?.id, key: key, url: live.url, destination: delivery.destination,
                state: isPaused ? .paused : isRunning ? .running : .waiting,
                priority: Int64(item.priority.rawValue), isForced: item.isForced, position: item.rank,
                terms: live.rows[delivery.destination]?.terms)
            if var request = live.requests[delivery.destination] {
                // A new start that is under way when the process dies has been made.
                if isRunning { request.restarts = false }
                row.terms = QueuedTerms.text(for: request)
            }
            return row
        }
    }
}

extension DownloadRequest {
    /// Refuses a request that asks for other bytes under the same name than another one.
    func requireAgreement(with other: DownloadRequest) throws(QueueError) {
        if let digest, let known = other.digest, digest != known {
            throw QueueError(
                .conflict,
                "The download of \(Printable.escaped(storeKey)) is asked for with another digest already. "
                    + "Give one of them a key of its own.")
        }
        if acceptEncoding.lowercased() != other.acceptEncoding.lowercased() {
            throw QueueError(
                .conflict,
                "The download of \(Printable.escaped(storeKey)) is asked for with another coding already. "
                    + "Give one of them a key of its own.")
        }
    }
}
