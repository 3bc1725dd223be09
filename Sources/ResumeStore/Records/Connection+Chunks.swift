import ResumeHTTP
package import ResumeSQLite

/// Identifies the part of a download that a writer works on.
struct PartReference: Hashable {
    /// The download's ID.
    var id: Int64
    /// The generation that the writer knows; if the entry has another one, the writer's bytes are not used.
    var generation: Int64
    /// The offset of the part's first byte.
    var offset: Int64
}

/// The rows of `chunk` and `block`.
extension Connection {
    /// Reduces the parts of an entry and assigns a new generation, so that writers with the old one cannot record the
    /// removed bytes again.
    ///
    /// - Parameters:
    ///   - entry: The entry with the expected generation.
    ///   - change: Returns the parts to keep.
    /// - Returns: Whether the entry had the expected generation.
    /// - Throws: `SQLiteError`.
    @discardableResult
    package borrowing func reduceChunks(
        of entry: Entry, _ change: ([Entry.Chunk]) -> [Entry.Chunk]
    ) throws -> Bool {
        guard let current = try self.entry(id: entry.id), current.generation == entry.generation else {
            return false
        }
        let fresh = Entry.newGeneration()
        try setChunks(change(current.chunks), of: entry.id, generation: fresh)
        return try update(current, "generation = ?, state = 'partial', grows = 0", [fresh])
    }

    /// Replaces the parts of an entry, removes checksums of bytes that are no longer stored, and updates the totals.
    borrowing func setChunks(
        _ chunks: [Entry.Chunk], of id: Int64, generation: Int64, plannedEnd: Int64? = nil
    ) throws {
        try run("DELETE FROM chunk WHERE download = ?", id)
        for (index, chunk) in chunks.enumerated() {
            let next = index + 1 < chunks.count ? chunks[index + 1].offset : plannedEnd
            try run(
                """
                INSERT INTO chunk (download, first_byte, planned_end, path, received, durable, generation, mark)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """, id, chunk.offset, next, chunk.path, chunk.length, min(chunk.durable, chunk.length), generation,
                chunk.mark)
        }
        try run(
            """
            DELETE FROM block WHERE download = ?1 AND first_byte + length > ifnull((
                SELECT first_byte + received FROM chunk WHERE download = ?1 AND chunk.first_byte <= block.first_byte
                ORDER BY chunk.first_byte DESC LIMIT 1), -1)
            """, id)
        try sumReceived(of: id)
    }

    /// Returns the blobs in the rows of a download.
    borrowing func blobs(of id: Int64) throws -> [BlobName] {
        let paths = try rows("SELECT path FROM chunk WHERE download = ?", id) { $0.text(0) }
        return Array(Set(paths.compactMap { BlobName(path: $0) }))
    }

    /// Returns the checksums of an entry in the order of their offsets, without overlaps: so their total length is
    /// limited by that of the stored bytes, even if rows were manipulated.
    package borrowing func blocks(of id: Int64) throws -> [Block] {
        try rows("SELECT first_byte, length, crc32c FROM block WHERE download = ? ORDER BY first_byte", id) { row in
            guard let offset = row.integer(0), let length = row.integer(1), let checksum = row.integer(2),
                (0...Self.largest).contains(offset), (1...Self.largest).contains(length),
                let checksum = UInt32(exactly: checksum)
            else { return nil }
            return Block(offset: offset, length: length, checksum: checksum)
        }.disjoint
    }

    /// Inserts an entry of another database with its ID.
    package borrowing func insert(_ entry: Entry, _ blocks: [Block]) throws {
        let columns = """
            \(Self.representationColumns), id, key, variant, url, selection, gone_at, generation, state, destination,
            pinned, created_at, used_at, boot_id, adopted
            """
        let values: SQLiteValues = [
            entry.id, entry.key, entry.variant, entry.url, entry.selection?.description, entry.objections.goneAt,
            entry.generation, entry.state.rawValue, entry.destination, entry.isPinned, entry.times.created,
            entry.times.used, entry.content?.bootID ?? "", entry.agreedSamples,
        ]
        try run(
            "INSERT INTO download (\(columns)) VALUES \(Self.placeholders(columns))",
            Self.values(of: entry.representation) + values)
        try addToTotals(entries: 1)
        try setChunks(entry.chunks, of: entry.id, generation: entry.generation)
        for block in blocks { try insert(block, of: entry.id) }
    }

    borrowing func insert(_ block: Block, of id: Int64) throws {
        try run(
            "INSERT OR REPLACE INTO block (download, first_byte, length, crc32c) VALUES (?, ?, ?, ?)", id,
            block.offset, block.length, Int64(block.checksum))
    }
}
