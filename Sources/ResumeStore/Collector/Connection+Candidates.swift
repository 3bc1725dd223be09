import ResumeHTTP
import ResumeSQLite

/// Rows for the collector, read in batches so that memory does not grow with the store.
extension Connection {
    /// What is read of a candidate besides its entry: whether the first of its queued requests is one of the command
    /// line, and whether it is superseded.
    ///
    /// Queued requests are looked up in `queued_by_key`; those that failed permanently, are done or cancelled do not
    /// count.
    static let candidateColumns = [
        "(SELECT min(list <> 0) FROM queued WHERE queued.key = \(Variant.nameInSQL) AND queued.state <> 'failed')",
        """
        EXISTS (SELECT 1 FROM download AS newer WHERE newer.id > download.id
            AND newer.requester = download.requester AND newer.key IN (\(Variant.keysInSQL)))
        """,
    ]

    /// Returns the next entries of a query.
    ///
    /// Unreadable rows are ignored.
    borrowing func candidates(at cursor: EntryQuery.Cursor) throws -> (items: [Candidate], next: EntryQuery.Cursor) {
        try page(at: cursor, adding: Self.candidateColumns) { row, entry in
            let ofJob = row.integer(PageStatement.column + 1)
            return Candidate(
                entry: entry, isPaused: ofJob == 0, isOfJob: ofJob == 1,
                isSuperseded: row.integer(PageStatement.column + 2) == 1)
        }
    }

    /// Returns the keys of pinned entries with bytes, largest first.
    borrowing func pinnedKeys(limit: Int64) throws -> [String] {
        try rows(
            "SELECT key FROM download WHERE pinned <> 0 AND received > 0 ORDER BY received DESC, id DESC LIMIT ?",
            limit
        ) { $0.text(0) }
    }

    /// An entry that the collector may remove.
    struct Candidate {
        var entry: Entry
        /// Whether a queue or a task has paused it and intends to continue.
        var isPaused: Bool
        /// Whether a job of the command line is to continue it, which is removed last, but expires.
        var isOfJob: Bool
        /// Whether the same request has a newer entry of the same download.
        var isSuperseded: Bool

        /// When it is removed to make room.
        var group: EvictionRule.Group {
            if isSuperseded { return .superseded }
            if isPaused { return .paused }
            return isOfJob ? .job : .unused
        }
    }
}
