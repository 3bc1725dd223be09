package import ResumeSQLite

/// Rows that are unreadable, because another program created them or removed rows that they belong to. They belong to
/// no entry, but the totals include them.
extension Connection {
    private static let unreadableParts = """
        FROM chunk WHERE NOT (typeof(first_byte) = 'integer' AND first_byte BETWEEN 0 AND \(largest)
            AND typeof(received) = 'integer' AND received BETWEEN 0 AND \(largest)
            AND typeof(durable) = 'integer' AND durable >= 0) OR download NOT IN (SELECT id FROM download)
        """
    private static let lostBlocks = "FROM block WHERE download NOT IN (SELECT id FROM download)"

    /// Returns the IDs of unreadable entries; only rows that may be unreadable are read one by one.
    package borrowing func unreadableEntries() throws -> [Int64] {
        try rows(
            """
            SELECT \(Self.columns) FROM download WHERE id <= 0 OR selection NOT NULL OR typeof(key) <> 'text'
                OR typeof(url) <> 'text' OR typeof(boot_id) <> 'text' OR ifnull(state, '') NOT IN ('partial', 'complete')
                OR typeof(generation) <> 'integer' OR typeof(created_at) <> 'integer' OR typeof(used_at) <> 'integer'
            """
        ) { Self.entry($0) == nil ? $0.integer(0) : nil }
    }

    package borrowing func unreadableRows() throws -> Int64 {
        let parts = try count("SELECT count(*) \(Self.unreadableParts)")
        return try parts + count("SELECT count(*) \(Self.lostBlocks)") + Int64(unreadableEntries().count)
    }

    /// Removes the unreadable rows; the totals must be recalculated afterwards.
    borrowing func removeUnreadableRows() throws {
        // Rows that belong to them are removed too.
        for id in try unreadableEntries() { try run("DELETE FROM download WHERE id = ?", id) }
        try run("DELETE \(Self.unreadableParts)")
        try run("DELETE \(Self.lostBlocks)")
    }
}
