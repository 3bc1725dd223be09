internal import ResumeFiles
internal import ResumeSQLite

/// The totals that the store records, and the rows that they are the sums of.
extension DownloadStore {
    /// Removes the rows that cannot be read, and sets the totals to the sums of the other rows.
    func repairSums() async throws {
        _ = try await unreadableRows(removing: true)
        _ = try await wrongTotals(repairing: true)
    }

    /// The number of rows that cannot be read.
    ///
    /// - Throws: ``StoreError``
    package func unreadableRows(removing: Bool) async throws -> Int64 {
        let count = try await survey { connection in try connection.unreadableRows() }
        if count > 0, removing { try await write { connection in try connection.removeUnreadableRows() } }
        return count
    }

    /// The recorded totals and the sums of the rows; nil if they are equal.
    ///
    /// - Throws: ``StoreError``
    package func wrongTotals(repairing: Bool) async throws -> (recorded: Totals, sums: Totals)? {
        let both: @Sendable (borrowing Connection) throws -> (recorded: Totals, sums: Totals) = { connection in
            let entries = try connection.count("SELECT count(*) FROM download")
            let received = try connection.count("SELECT CAST(total(received) AS INTEGER) FROM chunk")
            return (
                try connection.totals(), Totals(entries: entries, receivedBytes: min(received, Connection.largest))
            )
        }
        let found = try await survey { connection in try both(connection) }
        guard found.recorded != found.sums else { return nil }
        if repairing {
            try await write { connection in
                let (_, sums) = try both(connection)
                // The row itself may be gone.
                try connection.run(
                    """
                    INSERT INTO store (id, entries, received, created_at) VALUES (1, ?, ?, ?)
                    ON CONFLICT (id) DO UPDATE SET entries = excluded.entries, received = excluded.received
                    """, .integer(sums.entries), .integer(sums.receivedBytes), .integer(WallClock.milliseconds))
            }
        }
        return found
    }
}
