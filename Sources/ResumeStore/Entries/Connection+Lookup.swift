import ResumeSQLite

/// Entries by what users call them.
extension Connection {
    /// A column with an index.
    package enum NameColumn: String, CaseIterable, Sendable {
        case url, destination

        /// The statement that finds the last used rows.
        var sql: String {
            "SELECT \(Connection.columns) FROM download WHERE \(rawValue) = ? ORDER BY used_at DESC, id DESC LIMIT ?"
        }
    }

    /// Returns the last used entries with a name, at most a page of them.
    borrowing func entries(where column: NameColumn, is name: String) throws -> [Entry] {
        try rows(column.sql, name, Self.pageSize) { Self.entry($0) }.map { try withChunks($0) }
    }

    /// The number of rows that are searched in one transaction.
    private static let searchedRows: Int64 = 8192

    /// Returns the entries among the next rows after an ID whose key, URL or destination contains a text, and the ID to
    /// continue with; nil at the end.
    borrowing func entries(containing text: String, after id: Int64) throws -> (entries: [Entry], next: Int64?) {
        let last = try integer(
            "SELECT id FROM download WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?", id,
            Self.searchedRows - 1)
        let entries = try rows(
            """
            SELECT \(Self.columns) FROM download WHERE id > ?1 AND id <= ?2
                AND (instr(key, ?3) OR instr(url, ?3) OR instr(ifnull(destination, ''), ?3))
            """, id, last ?? .max, text
        ) { Self.entry($0) }.map { try withChunks($0) }
        return (entries, last)
    }
}
