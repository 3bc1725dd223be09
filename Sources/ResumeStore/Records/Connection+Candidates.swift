internal import ResumeHTTP
internal import ResumeSQLite

/// An entry that the collector may remove.
struct Candidate: Sendable {
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

/// The position of an iteration over entries that the collector may remove.
package struct CandidateCursor: Sendable {
    /// The order of the entries.
    package enum Order: Sendable {
        /// Least recently used first, until a time.
        case use(until: Int64)
        case creation
    }

    let order: Order
    /// The last use and ID of the previous entry; nil at the end.
    var position: (usedAt: Int64, id: Int64)?

    init(_ order: Order, after id: Int64 = .min) {
        self.order = order
        position = (usedAt: .min, id: id)
    }

    /// The statement that reads the entries after a position.
    ///
    /// Queued requests are looked up in `queued_by_key`; those that failed permanently, are done or cancelled do not
    /// count.
    package static func sql(_ order: Order) -> String {
        let place =
            switch order {
            case .use: "(used_at, id) > (?, ?) AND used_at <= ? AND pinned = 0 ORDER BY used_at, id"
            case .creation: "id > ? AND pinned = 0 ORDER BY id"
            }
        return """
            SELECT \(Connection.columns),
                (SELECT min(list <> 0) FROM queued WHERE queued.key = \(Variant.nameInSQL) AND queued.state <> 'failed'),
                EXISTS (SELECT 1 FROM download AS newer WHERE newer.id > download.id
                    AND newer.requester = download.requester AND newer.key IN (\(Variant.keysInSQL)))
            FROM download WHERE \(place) LIMIT ?
            """
    }

    /// The values of its parameters except the limit.
    func values(after position: (usedAt: Int64, id: Int64)) -> SQLiteValues {
        switch order {
        case .use(let end): [position.usedAt, position.id, end]
        case .creation: [position.id]
        }
    }
}

/// Rows for the collector, read in batches so that memory does not grow with the store.
extension Connection {
    /// Returns the next entries that are not pinned.
    ///
    /// Unreadable rows are ignored.
    borrowing func candidates(_ cursor: inout CandidateCursor, limit: Int) throws -> [Candidate] {
        guard let start = cursor.position else { return [] }
        let count = Self.columns.split(separator: ",").count
        let rows = try rows(CandidateCursor.sql(cursor.order), cursor.values(after: start) + [limit]) {
            row -> (position: (usedAt: Int64, id: Int64), candidate: Candidate?)? in
            // Other types than integers are last in the order, and are not valid entries.
            guard let id = row.integer(0), let usedAt = row.integer(15) else { return nil }
            let (ofJob, isSuperseded) = (row.integer(count), row.integer(count + 1) == 1)
            let candidate = Self.entry(row).map {
                Candidate(entry: $0, isPaused: ofJob == 0, isOfJob: ofJob == 1, isSuperseded: isSuperseded)
            }
            return ((usedAt, id), candidate)
        }
        cursor.position = rows.last?.position
        return try rows.compactMap(\.candidate).map {
            var candidate = $0
            candidate.entry = try withChunks($0.entry)
            return candidate
        }
    }

    /// Returns the keys of pinned entries with bytes, largest first.
    borrowing func pinnedKeys(limit: Int64) throws -> [String] {
        try rows(
            "SELECT key FROM download WHERE pinned <> 0 AND received > 0 ORDER BY received DESC, id DESC LIMIT ?",
            limit
        ) { $0.text(0) }
    }
}
