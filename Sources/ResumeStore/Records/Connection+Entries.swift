import ResumeFiles
import ResumeHTTP
package import ResumeSQLite

/// Reads and writes the rows of `download` and `chunk`. The totals are updated in the same transaction as the rows that
/// they sum.
extension Connection {
    static let representationColumns = """
        etag, last_modified, response_date, complete_length, content_type, repr_digest, content_coding, accepts_ranges,
        suggested_filename, vary
        """

    static func values(of representation: Representation?) -> SQLiteValues {
        [
            representation?.entityTag?.rawValue, representation?.lastModified, representation?.date,
            representation?.completeLength, representation?.contentType, representation?.reprDigest,
            representation?.contentCoding, representation?.acceptsRanges ?? true, representation?.suggestedFilename,
            representation?.vary,
        ]
    }

    /// The assignment of parameters to the columns of the request that the bytes were fetched with.
    static let requesterAssignment = "(requester, varied, resource, url) = (?, ?, ?, ?)"

    static func values(of requester: Requester, url: String) -> SQLiteValues {
        [requester.code, requester.varied, requester.resource?.stored, url]
    }

    /// A parameter for each column of a list.
    static func placeholders(_ columns: String) -> String {
        "(\(columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")))"
    }

    /// The same for a representation and its request.
    static let responseAssignment =
        "(\(representationColumns)) = \(placeholders(representationColumns)), \(requesterAssignment)"

    static let columns = """
        id, key, url, etag, last_modified, response_date, complete_length, content_type, repr_digest, accepts_ranges,
        generation, state, destination, pinned, created_at, used_at, boot_id, selection, content_coding, gone_at,
        suggested_filename, requester, varied, vary, variant, grows, adopted, seen, closed, resource
        """

    /// Returns the columns of an entry, with NULL for those that a database of an older release does not have.
    ///
    /// For callers that must not migrate it; use the result with ``entry(id:columns:)`` and ``entry(key:columns:)``.
    package borrowing func columnsThere() throws -> String { try existing(Self.columns, in: "download") }

    /// Returns columns of a table, with NULL for those that it does not have.
    borrowing func existing(_ columns: String, in table: String) throws -> String {
        let names = try rows("SELECT name FROM pragma_table_info(?)", table) { $0.text(0) }
        return columns.split { $0 == "," || $0.isWhitespace }.map { names.contains(String($0)) ? $0 : "NULL" }
            .joined(separator: ", ")
    }

    /// The largest accepted number in a row, so that sums and differences cannot overflow.
    static let largest: Int64 = 1 << 60

    static func entryByKey(_ columns: String) -> String { "SELECT \(columns) FROM download WHERE key = ?" }

    private static let chunkColumns = "path, first_byte, received, durable, mark"

    static func chunksOfEntry(_ columns: String = chunkColumns) -> String {
        "SELECT \(columns) FROM chunk WHERE download = ? AND generation = ? ORDER BY first_byte"
    }

    package borrowing func entry(key: String, columns: String? = nil) throws -> Entry? {
        try first(Self.entryByKey(columns ?? Self.columns), key, body: Self.entry)
            .map { try withChunks($0, ofOlderRelease: columns != nil) }
    }

    package borrowing func entry(id: Int64, columns: String? = nil) throws -> Entry? {
        try first("SELECT \(columns ?? Self.columns) FROM download WHERE id = ?", id, body: Self.entry)
            .map { try withChunks($0, ofOlderRelease: columns != nil) }
    }

    borrowing func withChunks(_ entry: Entry, ofOlderRelease isOlder: Bool = false) throws -> Entry {
        var entry = entry
        let columns = isOlder ? try existing(Self.chunkColumns, in: "chunk") : Self.chunkColumns
        let chunks = try rows(Self.chunksOfEntry(columns), entry.id, entry.generation) { Self.chunk($0) }
        entry.content?.chunks = chunks.disjoint
        return entry
    }

    private static func chunk(_ row: borrowing Row) -> Entry.Chunk? {
        guard let path = row.text(0), let offset = row.integer(1), let length = row.integer(2),
            let durable = row.integer(3), (0...Self.largest).contains(offset),
            (0...Self.largest).contains(length), durable >= 0
        else { return nil }
        return Entry.Chunk(path: path, offset: offset, length: length, durable: durable, mark: row.text(4))
    }

    static func entry(_ row: borrowing Row) -> Entry? {
        guard let id = row.integer(0), id > 0,
            let key = row.text(1),
            let url = row.text(2),
            let generation = row.integer(10),
            let state = row.text(11).flatMap({ Entry.State(rawValue: $0) }),
            let createdAt = row.integer(14),
            let usedAt = row.integer(15),
            let bootID = row.text(16)
        else { return nil }
        let selection = row.text(17).flatMap { RangeSelection($0) }
        // If the ranges are unreadable, it must not become a download of the whole file.
        guard selection != nil || row.text(17) == nil else { return nil }
        return Entry(
            id: id,
            requester: Requester(
                code: row.blob(21),
                varied: row.blob(22),
                resource: row.text(29).flatMap { Provenance(stored: $0) }),
            key: key,
            variant: row.integer(24).flatMap(Variant.number) ?? 1,
            url: url,
            selection: selection,
            // Before the first response, a row has generation 0.
            content: generation == 0
                ? nil
                : .init(
                    generation: generation, bootID: bootID, representation: representation(row), state: state,
                    grows: row.integer(25) == generation,
                    agreedSamples: row.integer(26).map { Int(clamping: max($0, 0)) }),
            destination: row.text(12),
            isPinned: row.integer(13) != 0,
            times: .init(created: clamped(createdAt), used: clamped(usedAt)),
            objections: .init(
                goneAt: row.integer(19).map(clamped),
                sightings: row.text(27).flatMap { Sightings(stored: $0) },
                boundedRange: row.integer(28)),
            isInUse: false)
    }

    private static func representation(_ row: borrowing Row) -> Representation {
        Representation(
            entityTag: row.text(3).flatMap { EntityTag(rawValue: $0) },
            lastModified: row.text(4),
            date: row.text(5),
            completeLength: row.integer(6).flatMap { $0 >= 0 ? $0 : nil },
            contentType: row.text(7),
            reprDigest: row.text(8),
            contentCoding: row.text(18),
            acceptsRanges: row.integer(9) != 0,
            suggestedFilename: row.text(20),
            vary: row.text(23))
    }

    /// Inserts an entry for a key, and takes its lease.
    ///
    /// - Returns: The entry; nil if the key has one already.
    borrowing func claim(_ entry: Entry, url: String, in folder: StoreFolder) throws -> Fresh? {
        let now = WallClock.milliseconds
        // While the kernel closes the files of a process that was killed, its transaction is undone before its locks are:
        // then the next row gets a number that is still locked.
        for _ in 0..<100 {
            let added = try run(
                """
                INSERT INTO download (key, variant, url, selection, destination, created_at, used_at, boot_id)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
                """, entry.key, entry.variant, url, entry.selection?.description, entry.destination, now, now,
                BootIdentifier.current)
            guard added > 0 else { return nil }
            let id = lastInsertRowID
            if let lease = try Lease.take(id, in: folder), let row = try self.entry(id: id) {
                try addToTotals(entries: 1)
                return Fresh(entry: row, lease: lease)
            }
            try run("DELETE FROM download WHERE id = ?", id)
        }
        throw StoreError.superseded
    }

    /// Returns the ID of a key's row, even if the rest of the row is unreadable.
    borrowing func id(ofKey key: String) throws -> Int64? {
        try integer("SELECT id FROM download WHERE key = ?", key)
    }

    /// Records the use of a leased entry during the current boot of the machine.
    borrowing func touch(_ entry: Entry, url: String, now: Int64) throws {
        try run(
            """
            UPDATE download SET used_at = ?1, url = ?2, boot_id = ?3, grows = iif(boot_id = ?3, grows, 0) WHERE id = ?4
            """, now, url, BootIdentifier.current, entry.id)
    }

    /// Removes an entry and updates the totals.
    ///
    /// - Returns: Its blobs, to be removed after the commit.
    package borrowing func remove(_ entry: Entry) throws -> [BlobName] {
        let blobs = try blobs(of: entry.id)
        return try removeRow(entry.id, generation: entry.generation) ? blobs : []
    }

    /// Removes a row of `download` and updates the totals.
    ///
    /// - Parameters:
    ///   - id: The row's ID.
    ///   - generation: The expected generation; nil for any.
    /// - Returns: Whether the row existed.
    /// - Throws: `SQLiteError`.
    borrowing func removeRow(_ id: Int64, generation: Int64? = nil) throws -> Bool {
        let received = try recordedBytes(of: id)
        let removed = try run(
            "DELETE FROM download WHERE id = ? AND generation IS ifnull(?, generation)", id,
            generation)
        guard removed > 0 else { return false }
        try addToTotals(entries: -1, received: -received)
        return true
    }
}
