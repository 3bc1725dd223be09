package import ResumeSQLite

/// Entries page by page, so that neither memory nor the time of a read transaction grows with the store.
extension Connection {
    /// The number of rows that are read in one transaction.
    static let pageSize: Int64 = 256
    /// The number of rows that are sorted at a time in an order without an index.
    private static let sortedSize: Int64 = 65_536

    /// Returns the next entries of a query, possibly none, and moves the cursor.
    ///
    /// Unreadable rows are ignored.
    borrowing func page(_ cursor: inout EntryCursor) throws -> [Entry] {
        if cursor.isAtEnd { return [] }
        let query = cursor.query
        guard query.order != .size else { return try sizePage(&cursor) }
        let rows = try rows(
            PageStatement(query, isFirst: cursor.position == nil).sql,
            PageStatement.values(query, after: cursor.position, limit: Self.pageSize)
        ) { row -> (position: EntryPosition?, entry: Entry?) in
            (Self.position(row, at: PageStatement.column), query.isMet(by: row) ? Self.entry(row) : nil)
        }
        cursor.advance(to: rows.last?.position)
        return try rows.compactMap(\.entry).map { try withChunks($0) }
    }

    /// Returns all entries in the order of their last use; unreadable rows are ignored.
    package borrowing func entries() throws -> [Entry] {
        var cursor = EntryCursor(EntryQuery())
        var entries: [Entry] = []
        while !cursor.isAtEnd { entries += try page(&cursor) }
        return entries
    }

    private static func position(_ row: borrowing Row, at column: Int) -> EntryPosition? {
        guard let id = row.integer(0) else { return nil }
        if let bytes = row.blob(column) { return EntryPosition(value: .text(bytes), id: id) }
        guard let value = row.integer(column) else { return nil }
        return EntryPosition(value: row.integer(column + 1).map { .pair(value, $0) } ?? .integer(value), id: id)
    }

    /// The next entries by size: their IDs are sorted by reading all rows, but only some are kept at a time.
    private borrowing func sizePage(_ cursor: inout EntryCursor) throws -> [Entry] {
        if cursor.ids.isEmpty {
            let found = try rows(
                PageStatement(cursor.query, isFirst: cursor.position == nil).sql,
                PageStatement.values(cursor.query, after: cursor.position, limit: Self.sortedSize)
            ) { Self.position($0, at: 1) }
            cursor.advance(to: found.last.flatMap { $0 })
            cursor.ids = cursor.isAtEnd ? [] : ArraySlice(found.compactMap { $0?.id })
        }
        let page = cursor.ids.prefix(Int(Self.pageSize))
        cursor.ids.removeFirst(page.count)
        // The end of the IDs, not of the rows.
        cursor.isAtEnd = page.isEmpty
        let query = cursor.query
        return try page.compactMap { id in
            try first("SELECT \(Self.columns) FROM download WHERE id = ?", .integer(id)) { row in
                query.isMet(by: row) ? Self.entry(row) : nil
            }.flatMap { $0 }.map { try withChunks($0) }
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

/// The statement that reads a page.
///
/// Except for the size, it finds the beginning of the page in an index, and its rows are in the order of the index.
package struct PageStatement {
    /// The column with the position's value, or 1 for an order without an index; the ID is column 0.
    static let column = Connection.columns.split(separator: ",").count

    package let sql: String

    package init(_ query: EntryQuery, isFirst: Bool) {
        // The values, and whether they are texts.
        let (values, isText): ([String], Bool) =
            switch query.order.kind {
            case .use: (["used_at"], false)
            case .creation: ([], false)
            case .size: (["ifnull(complete_length, received)", "received"], false)
            case .received: (["received"], false)
            case .url: (["url"], true)
            }
        let bounds = values.map { _ in isText ? "CAST(? AS TEXT)" : "?" } + ["?"]
        let order = values + ["id"]
        var conditions: [String] = []
        if !isFirst {
            conditions.append("(\(Self.list(order))) \(query.isReversed ? "<" : ">") (\(Self.list(bounds)))")
        }
        if query.boundsUse { conditions.append("used_at < ?") }
        let place = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        let read = values.isEmpty ? ["id"] : values.map { isText ? "CAST(\($0) AS BLOB)" : $0 }
        // A second value only for a position of two.
        let rest = read + (read.count > 1 ? [] : ["NULL"])
        // Where rows are sorted, only what is compared.
        let columns = Self.list([query.order == .size ? "id" : Connection.columns] + rest)
        sql = """
            SELECT \(columns) FROM download \(place)
            ORDER BY \(Self.list(order.map { query.isReversed ? "\($0) DESC" : $0 })) LIMIT ?
            """
    }

    private static func list(_ items: [String]) -> String { items.joined(separator: ", ") }

    /// The values of the parameters.
    static func values(_ query: EntryQuery, after position: EntryPosition?, limit: Int64) -> [SQLiteValue] {
        let start = position.map { position in
            (query.order == .creation ? [] : position.value.bounds) + [.integer(position.id)]
        }
        let end = query.usedBefore.flatMap { query.boundsUse ? [SQLiteValue.integer($0)] : nil }
        return (start ?? []) + (end ?? []) + [.integer(limit)]
    }
}
