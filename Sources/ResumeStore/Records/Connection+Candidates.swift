internal import ResumeSQLite

/// An entry that the collector may remove.
struct Candidate: Sendable {
    var entry: Entry
    /// Whether a queue or a task has paused it and means to go on.
    var isPaused: Bool
}

/// How far a walk over the entries by their last use has come.
struct CandidateCursor: Sendable {
    /// Only entries whose server says that they do not exist.
    var isOnlyGone = false
    /// The last use and the number of the last entry that was seen; nil at the end.
    var position: (usedAt: Int64, id: Int64)? = (usedAt: .min, id: .min)
}

/// The rows that the collector looks at, a batch at a time: memory must not grow with the store.
extension Connection {
    /// The next entries that are not pinned, least recently used first.
    ///
    /// A row that cannot be read is left out. What a queue wants is looked up in `queued_by_key`; a request that has
    /// failed for good does not count.
    borrowing func candidates(_ cursor: inout CandidateCursor, limit: Int) throws -> [Candidate] {
        guard let start = cursor.position else { return [] }
        let count = Self.columns.split(separator: ",").count
        let rows = try rows(
            """
            SELECT \(Self.columns),
                EXISTS (SELECT 1 FROM queued WHERE queued.key = \(Variant.nameInSQL) AND queued.state <> 'failed')
            FROM download WHERE pinned = 0 AND (used_at, id) > (?, ?)\(cursor.isOnlyGone ? " AND gone_at NOT NULL" : "")
            ORDER BY used_at, id LIMIT ?
            """, .integer(start.usedAt), .integer(start.id), .integer(Int64(limit))
        ) { row -> (position: (usedAt: Int64, id: Int64), candidate: Candidate?)? in
            // Whatever is no number comes last in the order, and is no entry.
            guard let id = row.integer(0), let usedAt = row.integer(15) else { return nil }
            let isQueued = row.integer(count) == 1
            return ((usedAt, id), Self.entry(row).map { Candidate(entry: $0, isPaused: isQueued) })
        }
        cursor.position = rows.last.flatMap { $0?.position }
        return try rows.compactMap { $0?.candidate }.map {
            Candidate(entry: try withChunks($0.entry), isPaused: $0.isPaused)
        }
    }

    /// Keys of pinned entries that hold bytes, largest first.
    borrowing func pinnedKeys() throws -> [String] {
        try rows("SELECT \(Self.columns) FROM download WHERE pinned <> 0") { Self.entry($0) }.compactMap { $0 }
            .map { try withChunks($0) }.filter { $0.receivedBytes > 0 }
            .sorted { $0.receivedBytes > $1.receivedBytes }.map(\.key)
    }
}
