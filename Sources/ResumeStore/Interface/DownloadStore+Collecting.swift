extension DownloadStore {
    /// Removes expired entries, then the least recently used ones until the store fits its size limit, then files
    /// without a row and rows without a file.
    ///
    /// Downloads that `resumectl` has begun and not ended are removed after all others, but expire as well. Downloads
    /// paused by a queue or a task do not expire, and are removed only if removing others is not sufficient. Pinned
    /// entries and those in use are never removed, and others only as a whole. Each is chosen and deleted in one
    /// transaction while it is locked, first its row and then its file.
    ///
    /// - Parameters:
    ///   - maximumSize: The size limit in bytes; nil for the configured one.
    ///   - maximumAge: The time after which unused entries expire; nil for the configured one.
    ///   - dryRun: Whether to report what would be removed without removing it.
    ///   - comparesAll: Whether to compare all files with all rows. Otherwise, a collection compares some thousand of
    ///     each, and the next one continues there, so that its duration does not grow with the store.
    ///   - onBatch: Receives what was removed after each transaction; the returned report and
    ///     ``Configuration/onCollection`` then receive the sums only.
    /// - Returns: The removed entries, and those that are in use and were kept.
    /// - Throws: ``StoreError``.
    public func collect(
        maximumSize: Int64? = nil, maximumAge: Duration? = nil, dryRun: Bool = false, comparesAll: Bool = false,
        onBatch: ((RemovalReport) -> Void)? = nil
    ) async throws -> RemovalReport {
        try await Collector(self).collect(
            maximumSize: maximumSize, maximumAge: maximumAge, dryRun: dryRun, comparesAll: comparesAll, onBatch: onBatch
        )
    }

    /// Removes entries that the caller chooses.
    ///
    /// Each batch is chosen, removed and reported before the next one is read, so that memory does not grow with the
    /// number of entries.
    ///
    /// - Parameters:
    ///   - dryRun: Whether to report what would be removed without removing it.
    ///   - onBatch: Receives the entries of each batch; the returned report then contains the sums only.
    ///   - isChosen: Whether to remove an entry.
    /// - Returns: The removed entries, and those that are in use and were kept.
    /// - Throws: ``StoreError``.
    public func purge(
        dryRun: Bool = false, onBatch: ((RemovalReport) -> Void)? = nil, where isChosen: (Entry) -> Bool
    ) async throws -> RemovalReport {
        try await Collector(self).purge(keepingPinned: false, dryRun: dryRun, onBatch: onBatch, where: isChosen)
    }

    /// Removes one entry.
    ///
    /// - Parameter download: The entry's ``Entry/key``, which includes the ranges of a selection.
    /// - Returns: The removed entry, or that it is in use; empty if there is no such entry.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func purge(_ download: some DownloadKeyConvertible) async throws -> RemovalReport {
        try await Collector(self).purge(download, because: .purged)
    }
}
