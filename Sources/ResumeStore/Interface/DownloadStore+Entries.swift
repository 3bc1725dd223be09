public import ResumeHTTP

extension DownloadStore {
    /// Returns all entries, least recently used first; for stores with few entries.
    ///
    /// - Throws: ``StoreError``.
    public func entries() async throws -> [Entry] {
        try await EntryReader(self).entries()
    }

    /// Returns the entry with a key.
    ///
    /// - Parameter download: Its key, which includes the ranges of a selection, or its URL.
    /// - Returns: The entry, nil if there is none.
    /// - Throws: ``StoreError``.
    public func entry(for download: some DownloadKeyConvertible) async throws -> Entry? {
        try await EntryReader(self).entry(key: download.downloadKey.rawValue)
    }
}
