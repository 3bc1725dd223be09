import ResumeSQLite

/// Entries page by page, so that neither memory nor the time of a read transaction grows with the store.
extension Connection {
    /// The number of rows that are read in one transaction.
    static let pageSize: Int64 = 256

    /// Returns the next entries of a query, possibly none, and the cursor behind them.
    ///
    /// Unreadable rows are ignored.
    ///
    /// - Parameters:
    ///   - cursor: The cursor.
    ///   - columns: What is read after the columns of an entry and that of its position.
    ///   - body: Makes an item of a row and its entry.
    /// - Returns: The items, and where the next page begins.
    /// - Throws: `SQLiteError`.
    borrowing func page<Item>(
        at cursor: EntryQuery.Cursor, adding columns: [String] = [], _ body: (borrowing Row, Entry) -> Item
    ) throws -> (items: [Item], next: EntryQuery.Cursor) {
        let query = cursor.query
        let rows = try rows(
            PageStatement(query, isFirst: cursor.position == nil, adding: columns).sql,
            PageStatement.values(query, after: cursor.position, limit: Self.pageSize)
        ) { row -> (position: EntryQuery.Position?, item: Item?) in
            let entry = query.isMet(by: row) ? try Self.entry(row).map { try withChunks($0) } : nil
            return (Self.position(row, at: PageStatement.column), entry.map { body(row, $0) })
        }
        return (rows.compactMap(\.item), cursor.advanced(to: rows.last?.position))
    }

    /// Returns all entries in the order of their last use; unreadable rows are ignored.
    borrowing func entries() throws -> [Entry] {
        var cursor = EntryQuery.Cursor(EntryQuery())
        var entries: [Entry] = []
        while !cursor.isAtEnd {
            let page = try page(at: cursor) { $1 }
            entries += page.items
            cursor = page.next
        }
        return entries
    }

    private static func position(_ row: borrowing Row, at column: Int) -> EntryQuery.Position? {
        guard let id = row.integer(0) else { return nil }
        if let bytes = row.blob(column) { return EntryQuery.Position(value: .blob(bytes), id: id) }
        return row.integer(column).map { EntryQuery.Position(value: .integer($0), id: id) }
    }

    /// The statement that reads a page.
    ///
    /// It finds the beginning of the page in an index, and its rows are in the order of the index.
    package struct PageStatement {
        /// The column with the position's value; the ID is column 0.
        static let column = Connection.columns.split(separator: ",").count

        package let sql: String

        package init(_ query: EntryQuery, isFirst: Bool, adding columns: [String] = []) {
            let order = query.order.rawValue
            let (value, bound) = query.order == .url ? ("CAST(url AS BLOB)", "CAST(? AS TEXT)") : (order, "?")
            let (after, direction) = query.isReversed ? ("<", "DESC") : (">", "ASC")
            var condition = isFirst ? "1" : "(\(order), id) \(after) (\(bound), ?)"
            if query.boundsUse { condition += " AND used_at < ?" }
            if query.isUnpinned { condition += " AND pinned = 0" }
            sql = """
                SELECT \(([Connection.columns, value] + columns).joined(separator: ", ")) FROM download
                WHERE \(condition) ORDER BY \(order) \(direction), id \(direction) LIMIT ?
                """
        }

        static func values(_ query: EntryQuery, after position: EntryQuery.Position?, limit: Int64) -> SQLiteValues {
            let start: SQLiteValues = position.map { [$0.value, $0.id] } ?? []
            return start + (query.boundsUse ? [query.usedBefore] : []) + [limit]
        }
    }
}

extension EntryQuery {
    /// Whether the index of the order also finds the entries that were last used before a time.
    fileprivate var boundsUse: Bool { order == .use && usedBefore != nil }

    /// Whether a row has the state and the last use that the query asks for.
    fileprivate func isMet(by row: borrowing Row) -> Bool {
        (state.map { row.text(11) == $0.rawValue } ?? true)
            && (usedBefore.map { row.integer(15) ?? .max < $0 } ?? true)
    }
}
