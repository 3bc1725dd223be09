import ResumeFiles
package import ResumeSQLite
public import ResumeHTTP

/// The entries of a store that a query selects, read page by page with a separate connection.
///
/// Memory does not grow with the store, and no transaction stays open between two entries, so a slow reader does not
/// delay others. Each page is a consistent state of the store, but different pages may be of different times: an entry
/// that changes its place in the order during the iteration may appear twice or not at all. In the order of
/// ``EntryQuery/Order/creation``, each entry that exists throughout appears once.
package struct EntrySequence: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private let store: DownloadStore
    private var cursor: EntryCursor
    private var reader: (connection: Database, leases: ByteLocks)?
    private var page: ArraySlice<Entry> = []

    init(store: DownloadStore, query: EntryQuery) {
        self.store = store
        cursor = EntryCursor(query)
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
    mutating func nextPage() async throws -> [Entry]? {
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

extension DownloadStore {
    /// Returns entries one by one, without reading all of them into memory.
    package func entries(matching query: EntryQuery) -> EntrySequence { EntrySequence(store: self, query: query) }

    /// Returns all entries, least recently used first; for stores with few entries.
    ///
    /// - Throws: ``StoreError``.
    public func entries() async throws -> [Entry] {
        let leases = try leaseFile()
        return leases.marking(try await survey { connection in try connection.entries() })
    }

    /// Returns the entry with a key.
    ///
    /// - Parameter download: Its key, which includes the ranges of a selection, or its URL.
    /// - Returns: The entry, nil if there is none.
    /// - Throws: ``StoreError``.
    public func entry(for download: some DownloadKeyConvertible) async throws -> Entry? {
        let key = download.downloadKey.rawValue
        return try await found { connection in try connection.entry(key: key).map { [$0] } ?? [] }.first
    }

    /// Returns the entries with a URL or a destination, at most a page of them, last used first.
    package func entries(where column: Connection.NameColumn, is name: String) async throws -> [Entry] {
        try await found { connection in try connection.entries(where: column, is: name) }
    }

    /// Returns all variants of a download.
    package func variants(ofKey name: String) async throws -> [Entry] {
        try await found { connection in
            try connection.variants(of: name).compactMap { try connection.entry(key: Variant.key(name, $0.number)) }
        }
    }

    private func found(_ body: @Sendable (borrowing Connection) throws -> [Entry]) async throws -> [Entry] {
        let leases = try leaseFile()
        return leases.marking(try await read(body))
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
