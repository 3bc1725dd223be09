internal import ResumeStore

/// What an earlier process left.
extension DownloadQueue {
    static func restore(
        _ rows: [QueuedRequest], into state: inout QueueState
    ) -> (live: [String: Live], left: [(delivery: Int, download: RestoredDownload)]) {
        var live: [String: Live] = [:]
        var left: [(delivery: Int, download: RestoredDownload)] = []
        for (row, rank) in zip(rows, ranks(of: rows)) {
            let priority = QueuePriority(rawValue: Int(clamping: row.priority)) ?? .normal
            let request =
                isPlace(row.destination)
                ? QueuedTerms.request(row.terms, url: row.url, key: row.key, destination: row.destination) : nil
            let delivery = state.restore(
                QueueState.Addition(row.key, to: row.destination, priority: priority, isForced: row.isForced),
                rank: rank, isPaused: row.state == .paused, failure: row.failure, isReady: request != nil)
            var item =
                live[row.key]
                ?? Live(
                    url: row.url, listeners: Listeners(receivedBytes: row.receivedBytes, totalBytes: row.totalBytes))
            var recorded = row
            (recorded.receivedBytes, recorded.totalBytes) = (0, nil)
            item.failure = item.failure ?? row.failure
            item.deliveries[delivery] = LiveDelivery(request: request, row: recorded)
            item.limit()
            live[row.key] = item
            left.append(
                (
                    delivery,
                    RestoredDownload(
                        key: row.key, url: row.url, destination: row.destination, priority: priority,
                        isPaused: row.state == .paused, failure: row.failure, receivedBytes: row.receivedBytes,
                        totalBytes: row.totalBytes, request: request)
                ))
        }
        _ = state.takeChanges()
        return (live, left)
    }

    /// What was running gets the place before all others, as what is stopped has it: a process that was killed could not
    /// say so.
    private static func ranks(of rows: [QueuedRequest]) -> [Int64] {
        var top = rows.map(\.position).max() ?? 0
        var ranks = rows.map(\.position)
        for index in rows.indices.reversed() where rows[index].state == .running {
            // Positions stay far from what would overflow.
            top += 1
            ranks[index] = top
        }
        return ranks
    }

    /// Whether a text is the whole path of a file, as this writes it: another one was planted.
    private static func isPlace(_ path: String) -> Bool {
        (try? Destination(path))?.path.utf8.elementsEqual(path.utf8) ?? false
    }

    /// What an earlier process left and nobody has asked for yet.
    public var restored: [RestoredDownload] { waitingForRequest.map(\.download) }

    private var waitingForRequest: [(delivery: Int, download: RestoredDownload)] {
        left.filter { delivery, download in
            state.items[download.key]?.deliveries.contains { $0.number == delivery && $0.isRestored } == true
        }
    }

    /// Goes on with what an earlier process left, in the order that it had: first with what was running.
    ///
    /// What was paused, or has failed for good, stays so until ``resume(_:)``. What `supply` gives no request for stays
    /// ``restored``.
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
        var supplied: [(delivery: Int, download: RestoredDownload, request: DownloadRequest)] = []
        for (delivery, download) in waitingForRequest where Self.isPlace(download.destination) {
            guard let request = try await supply(download) else { continue }
            guard request.storeKey == download.key,
                try Destination(request.destination).path.utf8.elementsEqual(download.destination.utf8)
            else {
                throw QueueError(
                    .conflict, "the request for a restored download must have the same key and destination")
            }
            supplied.append((delivery, download, request))
        }
        guard !state.isClosed else { throw QueueError.closed }
        // Others may have asked for some of them meanwhile, or cancelled them.
        let still = Set(waitingForRequest.map(\.delivery))
        supplied.removeAll { !still.contains($0.delivery) }
        for (delivery, download, request) in supplied { give(request, to: delivery, of: download.key) }
        step { $0.supply(supplied.map { ($0.download.key, $0.download.destination) }) }
        return supplied.count
    }
}
