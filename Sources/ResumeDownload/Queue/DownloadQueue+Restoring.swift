import ResumeHTTP
import ResumeStore

/// Restoring the downloads of an earlier process.
extension DownloadQueue {
    /// A download that an earlier process left in a queue.
    public struct RestoredDownload: Sendable {
        /// The key in the store.
        public var key: String
        /// Its URL, without user info and signature.
        public var url: String
        /// The path to which it is delivered.
        public var destination: String
        /// The number of its delivery.
        var delivery: Int
        /// The original request, if it can be recreated from what was recorded.
        ///
        /// nil if it had secrets or closures, which are not recorded: user info or a signature in the URL, header fields, a
        /// renewal. Then the program must supply a request with the same key and destination.
        public var request: DownloadRequest?
    }

    static func restore(_ rows: [Job], into state: inout QueueState) {
        for (row, rank) in zip(rows, ranks(of: rows)) {
            let request =
                isPlace(row.destination)
                ? JobTerms.decoded(row.terms).flatMap { $0.needs == nil ? $0.request(for: row) : nil } : nil
            state.restore(row, rank: rank, request)
        }
        _ = state.takeChanges()
    }

    /// Returns the ranks of rows, with those of running downloads before all others.
    ///
    /// They would have these if the process had stopped them instead of being killed.
    private static func ranks(of rows: [Job]) -> [Int64] {
        var ranks = rows.map(\.position)
        var top = ranks.max() ?? 0
        for index in rows.indices.reversed() where rows[index].state == .running {
            // Positions are far from overflowing.
            top += 1
            ranks[index] = top
        }
        return ranks
    }

    /// Whether a text is an absolute path as this library writes it; any other text was planted in the database.
    private static func isPlace(_ path: String) -> Bool {
        (try? Destination(path))?.path.utf8.elementsEqual(path.utf8) ?? false
    }

    /// The downloads that an earlier process left and that have not been resumed or requested since.
    public var restored: [RestoredDownload] {
        state.items.values.flatMap { item in
            item.deliveries.filter(\.isRestored).map {
                RestoredDownload(
                    key: item.key, url: $0.row?.url ?? "", destination: $0.destination, delivery: $0.number,
                    request: $0.request)
            }
        }.sorted { $0.delivery < $1.delivery }
    }

    /// Resumes the downloads of an earlier process in their original order; those that were running come first.
    ///
    /// Downloads that were paused or have failed permanently stay so until ``resume(_:)``. Those for which `supply`
    /// returns nil stay in ``restored``.
    ///
    /// - Parameter supply: Returns the request for a download. By default, the recorded one if there is one. Otherwise
    ///   the program makes one with the same key and destination, for example with a newly signed URL.
    /// - Returns: How many downloads have a request now.
    /// - Throws: The errors of `supply`; `DownloadError` if the queue is closed or a request has a different key or
    ///   destination. Then nothing is resumed.
    @discardableResult
    public func resumeRestored(
        _ supply: @Sendable (RestoredDownload) async throws -> DownloadRequest? = { $0.request }
    ) async throws -> Int {
        var supplied: [(download: RestoredDownload, request: DownloadRequest)] = []
        for download in restored where Self.isPlace(download.destination) {
            guard let request = try await supply(download) else { continue }
            guard request.storeKey == download.key,
                try Destination(request.destination).path.utf8.elementsEqual(download.destination.utf8)
            else {
                throw DownloadError.conflict(sentence("conflicting-restore"))
            }
            supplied.append((download, request))
        }
        guard !state.isClosed else { throw DownloadError.queueClosed }
        // Some may have been requested or cancelled while `supply` ran.
        let still = Set(restored.map(\.delivery))
        supplied.removeAll { !still.contains($0.download.delivery) }
        step { $0.supply(supplied.map { ($0.download.key, $0.download.delivery, $0.request) }) }
        return supplied.count
    }
}
