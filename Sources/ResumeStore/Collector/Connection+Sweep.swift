import ResumeSQLite

/// What the collector reads to compare files with rows.
extension Connection {
    /// What is looked at in parts, a part in each collection.
    enum Sweep: String {
        /// The folders of blobs, by their number.
        case folders = "swept folders"
        case entries = "swept entries"
    }

    /// Returns where the next collection continues.
    borrowing func sweptPosition(_ sweep: Sweep) throws -> Int64 {
        let position = try integer("SELECT seq FROM sqlite_sequence WHERE name = ?", sweep.rawValue)
        return max(position ?? 0, 0)
    }

    /// Records where the next collection continues.
    ///
    /// The numbers are in SQLite's table of numbers, since the first page has little room for another column.
    borrowing func setSweptPosition(_ sweep: Sweep, to position: Int64) throws {
        try run("DELETE FROM sqlite_sequence WHERE name = ?", sweep.rawValue)
        try run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", sweep.rawValue, position)
    }

    static let knownBlob = "SELECT 1 FROM chunk WHERE path = ? LIMIT 1"

    /// Whether a row refers to a blob.
    borrowing func isBlobKnown(_ name: BlobName) throws -> Bool {
        try integer(Self.knownBlob, name.path) != nil
    }
}
