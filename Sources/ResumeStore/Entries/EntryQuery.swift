import ResumeSQLite

/// Which entries of a store are visited, and in which order.
package struct EntryQuery: Sendable, Hashable {
    /// An order of entries, by a column.
    ///
    /// Entries that are equal in it are in the order of their creation.
    package enum Order: String, Sendable {
        /// By last use, least recently used first.
        case use = "used_at"
        /// By creation, oldest first.
        case creation = "id"
        /// By the size of the file, smallest first; entries whose size is unknown come before all others.
        case size
        /// By the number of received bytes, smallest first.
        case received
        case url
    }

    var order: Order
    var isReversed: Bool
    /// The state of the entries; nil for any.
    var state: Entry.State?
    /// Only entries that were last used before this time, in milliseconds since 1970; nil for any.
    var usedBefore: Int64?
    /// Only entries that are not pinned.
    var isUnpinned: Bool

    /// Creates a query; by default, for all entries in the order of their last use.
    package init(
        order: Order = .use, isReversed: Bool = false, state: Entry.State? = nil, usedBefore: Int64? = nil,
        isUnpinned: Bool = false
    ) {
        self.order = order
        self.isReversed = isReversed
        self.state = state
        self.usedBefore = usedBefore
        self.isUnpinned = isUnpinned
    }

    /// The position of an entry in an order.
    struct Position: Comparable {
        /// What the order compares: an integer, or the bytes of a text.
        var value: SQLiteValue
        var id: Int64

        static func < (left: Position, right: Position) -> Bool {
            switch (left.value, right.value) {
            case (let value, let other) where value == other: left.id < right.id
            case (.integer(let left), .integer(let right)): left < right
            case (.blob(let left), .blob(let right)): left.lexicographicallyPrecedes(right)
            // Values of other types than integers come last in SQLite.
            case (.integer, _): true
            default: false
            }
        }
    }

    /// How far an iteration has come.
    struct Cursor {
        let query: EntryQuery
        /// The position of the last visited entry; nil before the first one.
        var position: EntryQuery.Position?
        var isAtEnd = false

        init(_ query: EntryQuery, after position: EntryQuery.Position? = nil) {
            self.query = query
            self.position = position
        }

        /// The cursor after a page.
        ///
        /// In a damaged database, the rows of an index may be in a wrong order, so that the iteration would not end.
        func advanced(to next: EntryQuery.Position?) -> Cursor {
            var cursor = self
            if let next, position.map({ query.isReversed ? next < $0 : next > $0 }) ?? true {
                cursor.position = next
            } else {
                cursor.isAtEnd = true
            }
            return cursor
        }
    }
}
