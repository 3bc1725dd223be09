import ResumeFiles
import ResumeSQLite

/// The sums over all downloads, and those of each download over its parts.
extension Connection {
    /// Returns the number of bytes of a download that the totals include.
    borrowing func recordedBytes(of id: Int64) throws -> Int64 {
        Self.clamped(try integer("SELECT received FROM download WHERE id = ?", id))
    }

    /// The sum of the parts of a row of `download`; not `sum`, which fails if manipulated numbers overflow.
    private static let sumOfParts =
        """
        (SELECT min(max(CAST(total(received) AS INTEGER), 0), \(largest)) FROM chunk WHERE chunk.download = download.id)
        """

    /// Records the number of bytes of a download after its parts have changed, and updates the totals.
    borrowing func sumReceived(of id: Int64) throws {
        let before = try recordedBytes(of: id)
        let after = try integer("SELECT \(Self.sumOfParts) FROM download WHERE id = ?", id) ?? 0
        // SQLite opens a table for RETURNING, which takes as long as the rest.
        guard try run("UPDATE download SET received = ? WHERE id = ? AND received IS NOT ?", after, id, after) > 0
        else { return }
        try addToTotals(received: after - before)
    }

    /// Changes the totals; manipulated ones must not overflow.
    borrowing func addToTotals(entries: Int64 = 0, received: Int64 = 0) throws {
        try run(
            """
            UPDATE store SET entries = min(max(entries, -?1), ?1) + ?2, received = min(max(received, -?1), ?1) + ?3
            """, Self.largest, entries, received)
    }

    static func clamped(_ number: Int64?) -> Int64 { min(max(number ?? 0, 0), largest) }

    borrowing func totals() throws -> Totals { try totals("SELECT entries, received FROM store WHERE id = 1") }

    /// Returns the sums that the totals should be, from an index.
    borrowing func sums() throws -> Totals {
        try totals("SELECT count(*), CAST(total(received) AS INTEGER) FROM download")
    }

    borrowing func setTotals() throws {
        let sums = try sums()
        // The row itself may be gone.
        try run(
            """
            INSERT INTO store (id, entries, received, created_at) VALUES (1, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET entries = excluded.entries, received = excluded.received
            """, sums.entries, sums.receivedBytes, WallClock.milliseconds)
    }

    private borrowing func totals(_ sql: String) throws -> Totals {
        try first(sql) { row in
            Totals(entries: row.integer(0) ?? 0, receivedBytes: Self.clamped(row.integer(1)))
        } ?? Totals(entries: 0, receivedBytes: 0)
    }

    /// Returns the number of downloads whose bytes differ from those of their parts.
    borrowing func wrongSums() throws -> Int64 {
        try count("SELECT count(*) FROM download WHERE received <> \(Self.sumOfParts)")
    }

    /// Records the bytes of the downloads with the next IDs, and returns the last one; nil if there are no more.
    borrowing func sumReceived(after id: Int64, limit: Int64) throws -> Int64? {
        let last = try integer(
            "SELECT max(id) FROM (SELECT id FROM download WHERE id > ? ORDER BY id LIMIT ?)", id,
            limit)
        // In a damaged table, rows may be in a wrong order, so that a loop would not end.
        guard let last, last > id else { return nil }
        try run(
            """
            UPDATE download SET received = \(Self.sumOfParts)
            WHERE id > ? AND id <= ? AND received <> \(Self.sumOfParts)
            """, id, last)
        return last
    }
}
