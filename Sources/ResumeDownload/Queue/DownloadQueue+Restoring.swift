internal import ResumeStore

/// What an earlier process left.
extension DownloadQueue {
    static func restore(
        _ left: [QueuedRequest], into state: inout QueueState
    ) -> (live: [String: Live], restored: [RestoredDownload]) {
        var live: [String: Live] = [:]
        var restored: [RestoredDownload] = []
        for row in left {
            let priority = QueuePriority(rawValue: Int(clamping: row.priority)) ?? .normal
            let request = QueuedTerms.request(row.terms, url: row.url, key: row.key, destination: row.destination)
            var item =
                live[row.key]
                ?? Live(
                    url: row.url, listeners: Listeners(receivedBytes: row.receivedBytes, totalBytes: row.totalBytes),
                    limiter: RateLimiter(bytesPerSecond: request?.rateLimit))
            item.requests[row.destination] = request
            var recorded = row
            (recorded.receivedBytes, recorded.totalBytes) = (0, nil)
            item.rows[row.destination] = recorded
            live[row.key] = item
            state.restore(
                QueueState.Addition(row.key, to: row.destination, priority: priority, isForced: row.isForced),
                rank: row.position, isPaused: row.state == .paused, isReady: request != nil)
            restored.append(
                RestoredDownload(
                    key: row.key, url: row.url, destination: row.destination, priority: priority,
                    isPaused: row.state == .paused, receivedBytes: row.receivedBytes, totalBytes: row.totalBytes,
                    request: request))
        }
        _ = state.takeChanges()
        return (live, restored)
    }

    /// Goes on with what an earlier process left, in the order that it had: first with what was running.
    ///
    /// What was paused stays so, until ``resume(_:)``. What `supply` gives no request for stays ``restored``.
    ///
    /// - Parameter supply: Gives the request for one of them: by default the one that was kept, where it could be. Else
    ///   the program makes one, with the same key and destination, such as with a URL that is signed anew.
    /// - Returns: How many have a request now.
    /// - Throws: What `supply` throws; ``QueueError`` where a request is for another download or destination. Then
    ///   nothing goes on.
    @discardableResult
    public func resumeRestored(
        _ supply: @Sendable (RestoredDownload) async throws -> DownloadRequest? = { $0.request }
    ) async throws -> Int {
        var supplied: [(request: DownloadRequest, addition: QueueState.Addition)] = []
        for download in restored {
            guard let request = try await supply(download) else { continue }
            guard request.storeKey == download.key,
                try Destination(request.destination).path == download.destination
            else {
                throw QueueError(
                    .conflict, "The request for a download of an earlier process must have its key and destination.")
            }
            supplied.append((request, QueueState.Addition(download.key, to: download.destination)))
        }
        guard !state.isClosed else { throw QueueError.closed }
        // Others may have asked for some of them meanwhile, or cancelled them.
        let left = Set(restored.map { QueueState.Addition($0.key, to: $0.destination).place })
        supplied.removeAll { !left.contains($0.addition.place) }
        for (request, addition) in supplied { take(request, for: addition) }
        strike(supplied.map(\.addition))
        step { $0.supply(supplied.map { ($0.addition.key, $0.addition.destination) }) }
        return supplied.count
    }
}
