internal import ResumeSQLite

/// An entry that the collector may remove.
struct Candidate: Sendable {
    var entry: Entry
    /// Whether a queue or a task has paused it and intends to continue.
    var isPaused: Bool
    /// Whether a job of the command line is to continue it, which is removed last, but expires.
    var isOfJob: Bool
}

/// The position of an iteration over entries in the order of their last use.
struct CandidateCursor: Sendable {
    /// Whether only entries are visited whose server reports that the resource does not exist.
    var isOnlyGone = false
    /// The last use and ID of the previous entry; nil at the end.
    var position: (usedAt: Int64, id: Int64)? = (usedAt: .min, id: .min)
}

/// Rows for the collector, read in batches so that memory does not grow with the store.
extension Connection {
    /// Returns the next entries that are not pinned, least recently used first.
    ///
    /// Unreadable rows are ignored. Queued requests are looked up in `queued_by_key`; those that failed permanently, are
    /// done or cancelled do not count.
    borrowing func candidates(_ cursor: inout CandidateCursor, limit: Int) throws -> [Candidate] {
        guard let start = cursor.position else { return [] }
        let count = Self.columns.split(separator: ",").count
        let rows = try rows(
            """
            SELECT \(Self.columns),
                (SELECT min(list <> 0) FROM queued WHERE queued.key = \(Variant.nameInSQL) AND queued.state <> 'failed')
            FROM download WHERE pinned = 0 AND (used_at, id) > (?, ?)\(cursor.isOnlyGone ? " AND gone_at NOT NULL" : "")
            ORDER BY used_at, id LIMIT ?
            """, .integer(start.usedAt), .integer(start.id), .integer(Int64(limit))
        ) { row -> (position: (usedAt: Int64, id: Int64), candidate: Candidate?)? in
            // Other types than integers are last in the order, and are not valid entries.
            guard let id = row.integer(0), let usedAt = row.integer(15) else { return nil }
            let ofJob = row.integer(count)
            return (
                (usedAt, id), Self.entry(row).map { Candidate(entry: $0, isPaused: ofJob == 0, isOfJob: ofJob == 1) }
            )
        }
        cursor.position = rows.last.flatMap { $0?.position }
        return try rows.compactMap { $0?.candidate }.map {
            Candidate(entry: try withChunks($0.entry), isPaused: $0.isPaused, isOfJob: $0.isOfJob)
        }
    }

    /// Returns the keys of pinned entries with bytes, largest first.
    borrowing func pinnedKeys() throws -> [String] {
        try rows("SELECT \(Self.columns) FROM download WHERE pinned <> 0") { Self.entry($0) }.compactMap { $0 }
            .map { try withChunks($0) }.filter { $0.receivedBytes > 0 }
            .sorted { $0.receivedBytes > $1.receivedBytes }.map(\.key)
    }
}
