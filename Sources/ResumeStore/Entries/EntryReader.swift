import ResumeFiles
package import ResumeHTTP
package import ResumeSQLite

/// Reads entries with what their locks tell: whether they are in use.
package struct EntryReader: Sendable {
    private let store: DownloadStore

    package init(_ store: DownloadStore) { self.store = store }

    /// Returns all entries, least recently used first.
    func entries() async throws -> [Entry] {
        let leases = try store.leaseFile()
        return leases.marking(try await store.survey { connection in try connection.entries() })
    }

    func entry(key: String) async throws -> Entry? {
        try await found { connection in try connection.entry(key: key).map { [$0] } ?? [] }.first
    }

    /// Returns the entries with a URL or a destination, at most a page of them, last used first.
    package func entries(where column: Connection.NameColumn, is name: String) async throws -> [Entry] {
        try await found { connection in try connection.entries(where: column, is: name) }
    }

    package func variants(ofKey name: String) async throws -> [Entry] {
        try await found { connection in
            try connection.variants(of: name).compactMap { try connection.entry(key: Variant.key(name, $0.number)) }
        }
    }

    private func found(_ body: @Sendable (borrowing Connection) throws -> [Entry]) async throws -> [Entry] {
        let leases = try store.leaseFile()
        return leases.marking(try await store.read(body))
    }

    /// Returns the entries whose key, URL or destination contains a text: the first ones, and the number of all.
    ///
    /// All rows are read, in transactions of bounded length.
    package func entries(containing text: String, limit: Int) async throws -> (first: [Entry], count: Int) {
        let reader = try await store.reader()
        let leases = try store.leaseFile()
        var result: (first: [Entry], count: Int) = ([], 0)
        var position: Int64? = 0
        while let start = position {
            let page = try await store.read(from: reader) { connection in
                try connection.entries(containing: text, after: start)
            }
            result.count += page.entries.count
            result.first += leases.marking(page.entries.prefix(max(limit - result.first.count, 0)))
            position = page.next
        }
        return result
    }

    /// Returns the entry of a download that a request is most likely to continue.
    ///
    /// It completes even if the task is cancelled, since it is needed then.
    package func entry(named name: String, for identity: RequestIdentity?) async throws -> Entry? {
        try await store.readToEnd { connection in
            try connection.entry(named: name, for: identity, key: store.identityKey)
        }
    }
}
