internal import ResumeFiles
internal import ResumeHTTP
package import ResumeSQLite

/// Reads and writes the rows of `download` and `chunk`. The totals are updated in the same transaction as the rows that
/// they sum.
extension Connection {
    static let columns = """
        id, key, url, etag, last_modified, response_date, complete_length, content_type, repr_digest, accepts_ranges,
        generation, state, destination, pinned, created_at, used_at, boot_id, selection, content_coding, gone_at,
        suggested_filename, requester, varied, vary, variant, grows
        """

    /// Returns the columns of an entry, with NULL for those that a database of an older release does not have.
    ///
    /// For callers that must not migrate it; use the result with ``entry(id:columns:)`` and ``entry(key:columns:)``.
    package borrowing func columnsThere() throws -> String { try existing(Self.columns, in: "download") }

    /// Returns columns of a table, with NULL for those that it does not have.
    borrowing func existing(_ columns: String, in table: String) throws -> String {
        let names = try rows("SELECT name FROM pragma_table_info(?)", .text(table)) { $0.text(0) }.compactMap { $0 }
        return columns.split { $0 == "," || $0.isWhitespace }.map { names.contains(String($0)) ? $0 : "NULL" }
            .joined(separator: ", ")
    }

    /// The largest accepted number in a row, so that sums and differences cannot overflow.
    static let largest: Int64 = 1 << 60

    package borrowing func entry(key: String, columns: String? = nil) throws -> Entry? {
        try first("SELECT \(columns ?? Self.columns) FROM download WHERE key = ?", .text(key)) { Self.entry($0) }
            .flatMap { $0 }.map { try withChunks($0) }
    }

    package borrowing func entry(id: Int64, columns: String? = nil) throws -> Entry? {
        try first("SELECT \(columns ?? Self.columns) FROM download WHERE id = ?", .integer(id)) { Self.entry($0) }
            .flatMap { $0 }.map { try withChunks($0) }
    }

    /// Returns all entries in the order of their last use; unreadable rows are ignored.
    package borrowing func entries() throws -> [Entry] {
        var chunks: [Int64: [Entry.Chunk]] = [:]
        let rows = try rows(
            """
            SELECT download, path, first_byte, received, durable FROM chunk
            WHERE generation = (SELECT generation FROM download WHERE id = chunk.download) ORDER BY 1, 3
            """
        ) { row in (row.integer(0), Self.chunk(row, from: 1)) }
        for case (let id?, let chunk?) in rows { chunks[id, default: []].append(chunk) }
        return try self.rows("SELECT \(Self.columns) FROM download ORDER BY used_at, id") { Self.entry($0) }
            .compactMap { entry in
                guard var entry else { return nil }
                entry.chunks = (chunks[entry.id] ?? []).disjoint
                return entry
            }
    }

    borrowing func withChunks(_ entry: Entry) throws -> Entry {
        var entry = entry
        entry.chunks = try rows(
            """
            SELECT path, first_byte, received, durable FROM chunk WHERE download = ? AND generation = ?
            ORDER BY first_byte
            """, .integer(entry.id), .integer(entry.generation)
        ) { Self.chunk($0, from: 0) }.compactMap { $0 }.disjoint
        return entry
    }

    private static func chunk(_ row: borrowing Row, from column: Int) -> Entry.Chunk? {
        guard let path = row.text(column), let offset = row.integer(column + 1), let length = row.integer(column + 2),
            let durable = row.integer(column + 3), (0...Self.largest).contains(offset),
            (0...Self.largest).contains(length), durable >= 0
        else { return nil }
        return Entry.Chunk(path: path, offset: offset, length: length, durable: durable)
    }

    static func entry(_ row: borrowing Row) -> Entry? {
        guard let id = row.integer(0), let key = row.text(1), let url = row.text(2), let generation = row.integer(10),
            let state = row.text(11).flatMap({ Entry.State(rawValue: $0) }), let createdAt = row.integer(14),
            let usedAt = row.integer(15), let bootID = row.text(16), id > 0
        else { return nil }
        // Before the first response, a row has generation 0 and no representation.
        let representation =
            generation == 0
            ? nil
            : Representation(
                entityTag: row.text(3).flatMap { EntityTag(rawValue: $0) }, lastModified: row.text(4),
                date: row.text(5), completeLength: row.integer(6).flatMap { $0 >= 0 ? $0 : nil },
                contentType: row.text(7), reprDigest: row.text(8), contentCoding: row.text(18),
                acceptsRanges: row.integer(9) != 0, suggestedFilename: row.text(20), vary: row.text(23))
        let selection = row.text(17)
        // If the ranges are unreadable, it must not become a download of the whole file.
        guard selection == nil || selection.flatMap({ RangeSelection($0) }) != nil else { return nil }
        return Entry(
            id: id, generation: generation, bootID: bootID,
            requester: Requester(code: row.blob(21), varied: row.blob(22)), key: key,
            variant: row.integer(24).flatMap { Variant.number($0) } ?? 1, url: url,
            selection: selection.flatMap { RangeSelection($0) }, representation: representation, state: state,
            chunks: [], destination: row.text(12), isPinned: row.integer(13) != 0,
            createdAt: min(max(createdAt, 0), largest),
            usedAt: min(max(usedAt, 0), largest), goneAt: row.integer(19).map { min(max($0, 0), largest) },
            isInUse: false, grows: generation != 0 && row.integer(25) == generation)
    }

    /// Inserts an entry for a key.
    ///
    /// - Returns: Its ID; nil if the key has an entry already.
    borrowing func claim(
        key: String, variant: Int, url: String, selection: RangeSelection?, destination: String?, now: Int64
    ) throws -> Int64? {
        let added = try run(
            """
            INSERT INTO download (key, variant, url, selection, destination, created_at, used_at, boot_id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
            """, .text(key), .integer(Int64(variant)), .text(url), .optional(selection?.description),
            .optional(destination), .integer(now),
            .integer(now), .text(BootIdentifier.current))
        guard added > 0 else { return nil }
        let id = lastInsertRowID
        try run("UPDATE store SET entries = entries + 1")
        return id
    }

    /// Returns the ID of a key's row, even if the rest of the row is unreadable.
    borrowing func id(ofKey key: String) throws -> Int64? {
        try integer("SELECT id FROM download WHERE key = ?", .text(key))
    }

    /// Records the use of a leased entry during the current boot of the machine.
    borrowing func adopt(_ entry: Entry, url: String, now: Int64) throws {
        try run(
            """
            UPDATE download SET used_at = ?1, url = ?2, boot_id = ?3, grows = iif(boot_id = ?3, grows, 0) WHERE id = ?4
            """, .integer(now), .text(url), .text(BootIdentifier.current), .integer(entry.id))
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
        let received = try receivedBytes(of: id)
        let removed = try run(
            "DELETE FROM download WHERE id = ? AND generation IS ifnull(?, generation)", .integer(id),
            .optional(generation))
        guard removed > 0 else { return false }
        try run("UPDATE store SET entries = entries - 1, received = received - ?", .integer(received))
        return true
    }

    /// Returns the blobs in the rows of a download.
    borrowing func blobs(of id: Int64) throws -> [BlobName] {
        try rows("SELECT DISTINCT path FROM chunk WHERE download = ?", .integer(id)) { row in
            row.text(0).flatMap { BlobName(path: $0) }
        }.compactMap { $0 }
    }

    /// Returns the number of bytes of a download that the totals include.
    borrowing func receivedBytes(of id: Int64) throws -> Int64 {
        // Not `sum`, which fails if manipulated numbers overflow.
        try integer("SELECT CAST(total(received) AS INTEGER) FROM chunk WHERE download = ?", .integer(id)) ?? 0
    }

    borrowing func totals() throws -> Totals {
        let totals = try first("SELECT entries, received FROM store WHERE id = 1") { row in
            Totals(entries: row.integer(0) ?? 0, receivedBytes: min(max(row.integer(1) ?? 0, 0), Self.largest))
        }
        return totals ?? Totals(entries: 0, receivedBytes: 0)
    }
}
