package import ResumeSQLite

/// The IDs of rows, if another program has left none for new rows.
extension Connection {
    /// An ID that a store cannot reach: rows with this or a higher ID were manipulated.
    private static let plantedNumber: Int64 = 1 << 62

    /// The tables with `AUTOINCREMENT`, where SQLite never reuses an ID and assigns none after the largest one.
    private static let numberedTables = ["download", "queue", "queued"]

    /// Whether each table has IDs left for new rows.
    package borrowing func hasNumbersLeft() throws -> Bool {
        try count("SELECT count(*) FROM sqlite_sequence WHERE CAST(seq AS INTEGER) = \(Int64.max)") == 0
    }

    /// Makes the IDs of new rows continue after the highest used one, in each table that has none left.
    ///
    /// Rows with manipulated IDs are removed.
    ///
    /// - Returns: Whether there was such a table.
    borrowing func restoreNumbers() throws -> Bool {
        var isRestored = false
        for table in Self.numberedTables {
            let isUsedUp = try integer(
                """
                SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '\(table)' AND CAST(seq AS INTEGER) = ?1)
                    OR EXISTS (SELECT 1 FROM \(table) WHERE id = ?1)
                """, Int64.max)
            guard isUsedUp == 1 else { continue }
            isRestored = true
            try run("DELETE FROM \(table) WHERE id >= ?", Self.plantedNumber)
            try run(
                "UPDATE sqlite_sequence SET seq = (SELECT ifnull(max(id), 0) FROM \(table)) WHERE name = '\(table)'")
        }
        if isRestored { try setTotals() }
        return isRestored
    }

    /// Renumbers the latest events from 1 in their order, if one of them has a manipulated ID.
    ///
    /// After the largest ID, SQLite assigns random ones, so the order of the events would be lost.
    ///
    /// - Parameter limit: The number of events to keep.
    /// - Throws: `SQLiteError`.
    borrowing func restoreEventNumbers(keeping limit: Int64) throws {
        guard let last = try integer("SELECT max(id) FROM event"), last >= Self.plantedNumber else { return }
        try run("DELETE FROM event WHERE id <= 0 OR id NOT IN (SELECT id FROM event ORDER BY id DESC LIMIT ?)", limit)
        // Each ID is at least the new one, so the new ID is never that of another event.
        let ids = try rows("SELECT id FROM event ORDER BY id") { $0.integer(0) }
        for (number, id) in zip(Int64(1)..., ids) where id != number {
            try run("UPDATE event SET id = ? WHERE id = ?", number, id)
        }
    }
}
