internal import ResumeFiles
internal import ResumeHTTP
package import ResumeSQLite

/// The rows of `download` and `chunk`, read and written. Everything that changes what the totals sum changes the
/// totals in the same transaction.
extension Connection {
    static let columns = """
        id, key, url, etag, last_modified, response_date, complete_length, content_type, repr_digest, accepts_ranges,
        generation, state, destination, pinned, created_at, used_at, boot_id, selection, content_coding, gone_at,
        suggested_filename, requester, varied, vary, variant, grows
        """

    /// The columns of an entry, with NULL for each that a database of an older release does not have.
    ///
    /// For who may not migrate it; ``entry(id:columns:)`` and ``entry(key:columns:)`` take them.
    package borrowing func columnsThere() throws -> String { try existing(Self.columns, in: "download") }

    /// Columns of a table, with NULL for each that it does not have.
    borrowing func existing(_ columns: String, in table: String) throws -> String {
        let names = try rows("SELECT name FROM pragma_table_info(?)", .text(table)) { $0.text(0) }.compactMap { $0 }
        return columns.split { $0 == "," || $0.isWhitespace }.map { names.contains(String($0)) ? $0 : "NULL" }
            .joined(separator: ", ")
    }

    /// No number of a row is believed beyond this, so that sums and differences of them cannot overflow.
    static let largest: Int64 = 1 << 60

    package borrowing func entry(key: String, columns: String? = nil) throws -> Entry? {
        try first("SELECT \(columns ?? Self.columns) FROM download WHERE key = ?", .text(key)) { Self.entry($0) }
            .flatMap { $0 }.map { try withChunks($0) }
    }

    package borrowing func entry(id: Int64, columns: String? = nil) throws -> Entry? {
        try first("SELECT \(columns ?? Self.columns) FROM download WHERE id = ?", .integer(id)) { Self.entry($0) }
            .flatMap { $0 }.map { try withChunks($0) }
    }

    /// All entries in the order of their last use.
    ///
    /// A row that cannot be read is left out, not a failure of all.
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
        // A row that has had no response yet has generation 0 and no representation.
        let representation =
            generation == 0
            ? nil
            : Representation(
                entityTag: row.text(3).flatMap { EntityTag(rawValue: $0) }, lastModified: row.text(4),
                date: row.text(5), completeLength: row.integer(6).flatMap { $0 >= 0 ? $0 : nil },
                contentType: row.text(7), reprDigest: row.text(8), contentCoding: row.text(18),
                acceptsRanges: row.integer(9) != 0, suggestedFilename: row.text(20), vary: row.text(23))
        let selection = row.text(17)
        // Ranges that nobody can read are no wish for the whole.
        guard selection == nil || selection.flatMap({ RangeSelection($0) }) != nil else { return nil }
        return Entry(
            id: id, generation: generation, bootID: bootID,
            requester: Requester(code: row.blob(21), varied: row.blob(22)), key: key,
            variant: row.integer(24).flatMap { Variant.number($0) } ?? 1, url: url,
            selection: selection.flatMap { RangeSelection($0) }, representation: representation, state: state,
            chunks: [], destination: row.text(12), isPinned: row.integer(13) != 0,
            createdAt: min(max(createdAt, 0), largest),
            usedAt: min(max(usedAt, 0), largest), goneAt: row.integer(19).map { min(max($0, 0), largest) },
            isInUse: false, grows: row.integer(25) == 1)
    }

    /// Makes the entry of a key.
    ///
    /// - Returns: Its number; nil where there is one of that key.
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

    /// The number of a key's row, whether the rest of it can be read or not.
    borrowing func id(ofKey key: String) throws -> Int64? {
        try integer("SELECT id FROM download WHERE key = ?", .text(key))
    }

    /// Takes a lease holder's entry into use under the present start of the machine.
    borrowing func adopt(_ entry: Entry, url: String, now: Int64) throws {
        try run(
            """
            UPDATE download SET used_at = ?1, url = ?2, boot_id = ?3, grows = grows AND boot_id = ?3 WHERE id = ?4
            """, .integer(now), .text(url), .text(BootIdentifier.current), .integer(entry.id))
    }

    /// Removes an entry and what the totals count of it.
    ///
    /// - Returns: Its blobs, to be removed after the commit.
    package borrowing func remove(_ entry: Entry) throws -> [BlobName] {
        let blobs = try blobs(of: entry.id)
        return try removeRow(entry.id, generation: entry.generation) ? blobs : []
    }

    /// Removes a row of `download` from the table and the totals.
    ///
    /// - Parameters:
    ///   - id: The row's number.
    ///   - generation: The one it must have; nil for any.
    /// - Returns: Whether it was there.
    /// - Throws: `SQLiteError`
    borrowing func removeRow(_ id: Int64, generation: Int64? = nil) throws -> Bool {
        let received = try receivedBytes(of: id)
        let removed = try run(
            "DELETE FROM download WHERE id = ? AND generation IS ifnull(?, generation)", .integer(id),
            .optional(generation))
        guard removed > 0 else { return false }
        try run("UPDATE store SET entries = entries - 1, received = received - ?", .integer(received))
        return true
    }

    /// The blobs that the rows of a download name.
    borrowing func blobs(of id: Int64) throws -> [BlobName] {
        try rows("SELECT DISTINCT path FROM chunk WHERE download = ?", .integer(id)) { row in
            row.text(0).flatMap { BlobName(path: $0) }
        }.compactMap { $0 }
    }

    /// What the totals count of a download.
    borrowing func receivedBytes(of id: Int64) throws -> Int64 {
        // Not `sum`, which fails where planted numbers overflow.
        try integer("SELECT CAST(total(received) AS INTEGER) FROM chunk WHERE download = ?", .integer(id)) ?? 0
    }

    borrowing func totals() throws -> Totals {
        let totals = try first("SELECT entries, received FROM store WHERE id = 1") { row in
            Totals(entries: row.integer(0) ?? 0, receivedBytes: min(max(row.integer(1) ?? 0, 0), Self.largest))
        }
        return totals ?? Totals(entries: 0, receivedBytes: 0)
    }
}
