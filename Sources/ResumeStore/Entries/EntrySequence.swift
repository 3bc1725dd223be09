import ResumeFiles
import ResumeSQLite
import ResumeHTTP

/// The entries of a store that a query selects, read page by page with a separate connection.
///
/// Memory does not grow with the store, and no transaction stays open between two entries, so a slow reader does not
/// delay others. Each page is a consistent state of the store, but different pages may be of different times: an entry
/// that changes its place in the order during the iteration may appear twice or not at all. In the order of
/// ``EntryQuery/Order/creation``, each entry that exists throughout appears once.
package struct EntrySequence: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private let store: DownloadStore
    private var cursor: EntryQuery.Cursor
    private var reader: (connection: Database, leases: ByteLocks)?
    private var page: ArraySlice<Entry> = []

    /// The entries of a store in the order of a query.
    package init(of store: DownloadStore, matching query: EntryQuery) {
        self.store = store
        cursor = EntryQuery.Cursor(query)
    }

    /// Creates an iterator, which opens its connection for the first entry.
    package func makeAsyncIterator() -> Self { self }

    /// Returns the next entry; nil at the end.
    ///
    /// - Throws: ``StoreError``, `CancellationError`.
    package mutating func next() async throws -> Entry? {
        while page.isEmpty {
            guard let entries = try await nextPage() else { return nil }
            page = ArraySlice(entries)
        }
        return page.removeFirst()
    }

    /// Returns the next entries, possibly none; nil at the end.
    package mutating func nextPage() async throws -> [Entry]? {
        guard !cursor.isAtEnd else {
            reader = nil
            return nil
        }
        let opened = if let reader { reader } else { (try await store.reader(), try store.leaseFile()) }
        reader = opened
        let (entries, next) = try await store.read(from: opened.0) { [cursor] connection in
            try connection.page(at: cursor) { $1 }
        }
        cursor = next
        return opened.1.marking(entries)
    }
}

extension ByteLocks {
    /// Returns entries with what the locks of their leases tell: whether they are in use.
    func marking(_ entries: some Sequence<Entry>) -> [Entry] {
        entries.map { entry in
            var entry = entry
            entry.isInUse = (try? isLocked(entry.id)) ?? false
            return entry
        }
    }
}
