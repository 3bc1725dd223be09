import ResumeFiles
package import ResumeHTTP
package import ResumeSQLite

/// Statements of a running transfer. Each one checks the generation, so an outdated writer changes nothing and gets
/// that as the result.
extension Connection {
    /// Changes the row of an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - assignment: What is assigned to which columns, as in `size = ?`.
    ///   - values: The values.
    /// - Returns: Whether the entry still has the generation.
    /// - Throws: `SQLiteError`.
    @discardableResult
    borrowing func update(_ entry: Entry, _ assignment: String, _ values: SQLiteValues) throws -> Bool {
        let sql = "UPDATE download SET \(assignment) WHERE id = ? AND generation = ?"
        return try run(sql, values + [entry.id, entry.generation]) > 0
    }

    /// Replaces the representation of an entry and gives it a blob.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - representation: The new representation.
    ///   - requester: The request.
    ///   - url: The URL without user info and signature.
    ///   - blob: The blob.
    ///   - grows: Whether the length of the blob counts.
    ///   - ranges: The ranges of bytes that the blob already has on disk.
    ///   - blocks: Their checksums.
    ///   - agreedSamples: The number of samples of them that agreed with the server; nil if they need none.
    /// - Returns: The old blobs, to be removed after the commit, and the entry; nil if it has another generation.
    /// - Throws: `SQLiteError`.
    borrowing func startOver(
        _ entry: Entry, with representation: Representation, for requester: Requester, url: String, blob: BlobName,
        grows: Bool, holding ranges: [Range<Int64>], _ blocks: [Block], agreedSamples: Int64?
    ) throws -> (abandoned: [BlobName], entry: Entry)? {
        let fresh = Entry.newGeneration()
        let isCurrent = try update(
            entry,
            """
            \(Self.responseAssignment), boot_id = ?, refused_digest = NULL, gone_at = NULL, generation = ?,
            state = 'partial', used_at = ?, grows = ?, adopted = ?, seen = NULL
            """,
            Self.values(of: representation) + Self.values(of: requester, url: url)
                + [BootIdentifier.current, fresh, WallClock.milliseconds, grows ? fresh : 0, agreedSamples])
        guard isCurrent else { return nil }
        let old = try blobs(of: entry.id)
        // The first part is where the next stream begins, even if it is empty.
        let first = ranges.first?.lowerBound == 0 ? [] : [0..<0 as Range<Int64>]
        let chunks = (first + ranges).map { range in
            let length = Int64(range.count)
            return Entry.Chunk(path: blob.path, offset: range.lowerBound, length: length, durable: length)
        }
        try run("DELETE FROM block WHERE download = ?", entry.id)
        try setChunks(
            chunks, of: entry.id, generation: fresh,
            plannedEnd: entry.length(of: representation))
        for block in blocks { try insert(block, of: entry.id) }
        return try self.entry(id: entry.id).map { (old, $0) }
    }

    /// Records the representation that the bytes of another program belong to, after samples of them were compared.
    ///
    /// - Returns: Whether the entry still has the generation.
    borrowing func prove(
        _ entry: Entry, as representation: Representation, for requester: Requester, url: String, agreedSamples: Int64?
    ) throws -> Bool {
        try run("UPDATE chunk SET mark = NULL WHERE download = ? AND generation = ?", entry.id, entry.generation)
        return try update(
            entry, "\(Self.responseAssignment), adopted = ?",
            Self.values(of: representation) + Self.values(of: requester, url: url) + [agreedSamples])
    }

    /// Records that bytes are stored; the recorded numbers never decrease.
    ///
    /// - Parameters:
    ///   - part: The part that was written.
    ///   - received: The number of its bytes that survive a crash of the process.
    ///   - durable: The number of its bytes that survive a power failure; 0 keeps the recorded number.
    ///   - blocks: The checksums of the bytes since the last checkpoint.
    /// - Returns: Whether the entry still has the generation.
    /// - Throws: `SQLiteError`.
    borrowing func checkpoint(_ part: PartReference, received: Int64, durable: Int64, blocks: [Block] = []) throws
        -> Bool
    {
        let before = try integer(
            """
            SELECT chunk.received FROM chunk JOIN download ON download.id = chunk.download
            WHERE chunk.download = ? AND first_byte = ? AND chunk.generation = ?3 AND download.generation = ?3
            """, part.id, part.offset, part.generation)
        guard let before else { return false }
        let after = max(before, received)
        try run(
            "UPDATE chunk SET received = ?1, durable = min(max(durable, ?2), ?1) WHERE download = ?3 AND first_byte = ?4",
            after, durable, part.id, part.offset)
        for block in blocks { try insert(block, of: part.id) }
        if after != before { try sumReceived(of: part.id) }
        return true
    }

    /// Inserts the row of another part without bytes.
    ///
    /// - Parameters:
    ///   - part: Its beginning and generation.
    ///   - path: The path of the blob.
    ///   - end: The planned end of the part; nil if unknown.
    ///   - mark: The digest that alone proves its bytes; nil if they need none.
    /// - Returns: Whether there is such a row now; false if the generation or an existing row at this offset is
    ///   different.
    /// - Throws: `SQLiteError`.
    borrowing func insertPart(_ part: PartReference, path: String, end: Int64?, mark: String? = nil) throws -> Bool {
        try run(
            """
            INSERT INTO chunk (download, first_byte, planned_end, path, generation, mark)
            SELECT id, ?1, ?2, ?3, generation, ?6 FROM download WHERE id = ?4 AND generation = ?5
            ON CONFLICT (download, first_byte) DO UPDATE SET mark = ?6 WHERE received = 0 AND ?6 IS NOT NULL
            """, part.offset, end, path, part.id, part.generation, mark)
        try stopGrowing(id: part.id)
        return try integer(
            """
            SELECT 1 FROM chunk JOIN download ON download.id = chunk.download
            WHERE download = ?1 AND first_byte = ?2 AND chunk.generation = ?3 AND download.generation = ?3
                AND chunk.received = 0 AND path = ?4
            """, part.id, part.offset, part.generation, path) != nil
    }

    /// Records that from now on only the rows of the parts count, not the length of the blob.
    borrowing func stopGrowing(id: Int64) throws {
        try run("UPDATE download SET grows = 0 WHERE id = ?", id)
    }

    /// Marks an entry as complete after all of it was synced.
    ///
    /// - Returns: Whether the entry still has the generation.
    borrowing func markComplete(_ entry: Entry) throws -> Bool {
        try run("UPDATE chunk SET durable = received WHERE download = ? AND generation = ?", entry.id, entry.generation)
        return try update(entry, "state = 'complete', used_at = ?", [WallClock.milliseconds])
    }
}

/// The rows of `event`.
extension Connection {
    /// The number of events to keep.
    private static let eventLimit: Int64 = 1000

    borrowing func record(_ events: [Event]) throws {
        guard !events.isEmpty else { return }
        try restoreEventNumbers(keeping: Self.eventLimit)
        try insert(
            "INSERT INTO event (key, at, kind, reason, bytes)", "(?, ?, ?, ?, ?)",
            events.suffix(Int(Self.eventLimit)).map {
                [.text($0.key), .integer($0.at), .text($0.kind.rawValue), .text($0.reason.stored), .integer($0.bytes)]
            })
        try run("DELETE FROM event WHERE id <= ?", lastInsertRowID.addingSaturating(-Self.eventLimit))
    }

    package borrowing func record(_ event: Event) throws { try record([event]) }

    /// Records an event that happens now.
    package borrowing func record(_ kind: Event.Kind, key: String, reason: Reason, bytes: Int64) throws {
        try record(Event(key: key, at: WallClock.milliseconds, kind: kind, reason: reason, bytes: bytes))
    }

    /// Returns the events of a key, or of all keys, oldest first.
    package borrowing func events(key: String?) throws -> [Event] {
        // There are too few rows for an index to matter.
        try rows("\(Self.events) WHERE key = ifnull(?, key) ORDER BY id", key, body: Self.event)
    }

    borrowing func lastEvent(key: String) throws -> Event? {
        try first("\(Self.events) WHERE key = ? ORDER BY id DESC LIMIT 1", key, body: Self.event)
    }

    private static let events = "SELECT key, at, kind, reason, bytes FROM event"

    private static func event(_ row: borrowing Row) -> Event? {
        guard let key = row.text(0), let at = row.integer(1),
            let kind = row.text(2).flatMap({ Event.Kind(rawValue: $0) }), let reason = row.text(3)
        else { return nil }
        return Event(key: key, at: at, kind: kind, reason: Reason(stored: reason), bytes: row.integer(4) ?? 0)
    }
}
