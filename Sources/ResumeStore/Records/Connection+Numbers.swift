package import ResumeSQLite

/// The numbers of rows, where another program has left none for new ones.
extension Connection {
    /// A number that a store cannot reach: rows that have it, or a higher one, were planted.
    private static let plantedNumber: Int64 = 1 << 62

    /// The tables whose numbers are never used twice, so that SQLite gives none after the highest.
    private static let numberedTables = ["download", "queue", "queued"]

    /// Whether each table has numbers left for new rows.
    package borrowing func hasNumbersLeft() throws -> Bool {
        try count("SELECT count(*) FROM sqlite_sequence WHERE CAST(seq AS INTEGER) = \(Int64.max)") == 0
    }

    /// Lets the numbers of new rows continue after the highest one in use, in each table that has none left.
    ///
    /// Rows with planted numbers are removed.
    ///
    /// - Returns: Whether there was such a table.
    borrowing func restoreNumbers() throws -> Bool {
        var isRestored = false
        for table in Self.numberedTables {
            let isUsedUp = try integer(
                """
                SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '\(table)' AND CAST(seq AS INTEGER) = ?1)
                    OR EXISTS (SELECT 1 FROM \(table) WHERE id = ?1)
                """, .integer(.max))
            guard isUsedUp == 1 else { continue }
            isRestored = true
            let planted = try rows("SELECT id FROM \(table) WHERE id >= ?", .integer(Self.plantedNumber)) {
                $0.integer(0)
            }
            for id in planted.compactMap({ $0 }) {
                if table == "download" {
                    _ = try removeRow(id)
                } else {
                    try run("DELETE FROM \(table) WHERE id = ?", .integer(id))
                }
            }
            try run(
                "UPDATE sqlite_sequence SET seq = (SELECT ifnull(max(id), 0) FROM \(table)) WHERE name = '\(table)'")
        }
        return isRestored
    }

    /// Numbers the last events from 1, in their order, if one of them has a planted number.
    ///
    /// After the highest number SQLite takes random ones, and then the order of the events is lost.
    ///
    /// - Parameter limit: How many events are kept.
    /// - Throws: `SQLiteError`
    borrowing func restoreEventNumbers(keeping limit: Int64) throws {
        guard let last = try integer("SELECT max(id) FROM event"), last >= Self.plantedNumber else { return }
        try run(
            "DELETE FROM event WHERE id <= 0 OR id NOT IN (SELECT id FROM event ORDER BY id DESC LIMIT ?)",
            .integer(limit))
        // Each number is at least the new one, so that this is never that of another event.
        let ids = try rows("SELECT id FROM event ORDER BY id") { $0.integer(0) }.compactMap { $0 }
        for (number, id) in zip(Int64(1)..., ids) where id != number {
            try run("UPDATE event SET id = ? WHERE id = ?", .integer(number), .integer(id))
        }
    }
}
