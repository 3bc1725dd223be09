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

extension DownloadStore {
    /// Returns the entries whose key, URL or destination contains a text: the first ones, and the number of all.
    ///
    /// All rows are read, in transactions of bounded length.
    package func entries(containing text: String, limit: Int) async throws -> (first: [Entry], count: Int) {
        let reader = try await reader()
        let leases = try leaseFile()
        var result: (first: [Entry], count: Int) = ([], 0)
        var position: Int64? = 0
        while let start = position {
            let page = try await read(from: reader) { connection in
                try connection.entries(containing: text, after: start)
            }
            result.count += page.entries.count
            result.first += leases.marking(page.entries.prefix(max(limit - result.first.count, 0)))
            position = page.next
        }
        return result
    }
}
