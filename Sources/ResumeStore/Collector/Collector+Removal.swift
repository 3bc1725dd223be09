import ResumeFiles
public import ResumeHTTP
import ResumeSQLite

extension DownloadStore {
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
        try await purge(keepingPinned: false, dryRun: dryRun, onBatch: onBatch, where: isChosen)
    }

    /// Removes chosen entries, except pinned ones if they are to be kept, which are then reported.
    package func purge(
        keepingPinned: Bool, dryRun: Bool, onBatch: ((RemovalReport) -> Void)?, where isChosen: (Entry) -> Bool
    ) async throws -> RemovalReport {
        var removal = try Removal(from: self, isDryRun: dryRun, onBatch: onBatch)
        var pages = entries(matching: EntryQuery(order: .creation)).makeAsyncIterator()
        while let page = try await pages.nextPage() {
            try await removal.purge(page.filter(isChosen), keepingPinned: keepingPinned)
        }
        if !dryRun { try await repairSums() }
        try await removal.freeSpace()
        return removal.report
    }

    /// Removes some entries, except pinned ones if they are to be kept, which are then reported.
    package func purge(
        _ chosen: [Entry], because reason: Reason = .purged, keepingPinned: Bool = false, dryRun: Bool = false
    ) async throws -> RemovalReport {
        var removal = try Removal(from: self, isDryRun: dryRun)
        try await removal.purge(chosen, because: reason, keepingPinned: keepingPinned)
        try await removal.freeSpace()
        return removal.report
    }

    /// Removes one entry.
    ///
    /// - Parameter download: The entry's ``Entry/key``, which includes the ranges of a selection.
    /// - Returns: The removed entry, or that it is in use; empty if there is no such entry.
    /// - Throws: ``StoreError``.
    @discardableResult
    public func purge(_ download: some DownloadKeyConvertible) async throws -> RemovalReport {
        try await purge(download, because: .purged)
    }

    /// Removes one entry, with a reason for the events.
    package func purge(
        _ download: some DownloadKeyConvertible, because reason: Reason
    ) async throws -> RemovalReport {
        let entry = try await entry(for: download)
        return try await purge(entry.map { [$0] } ?? [], because: reason)
    }

    /// Removes the stored data of a download for one request, and keeps that for other requests.
    ///
    /// - Parameters:
    ///   - name: The name of the download.
    ///   - identity: The request.
    ///   - reason: The reason for the events.
    /// - Returns: The removed entries, and those that are in use and were kept.
    /// - Throws: ``StoreError``.
    @discardableResult
    package func purge(
        name: String, of identity: RequestIdentity, because reason: Reason
    ) async throws -> RemovalReport {
        let entries = try await variants(ofKey: name)
        let own = entries.filter { $0.requester.code == nil || $0.requester.isSame(as: identity, key: identityKey) }
        return try await purge(own, because: reason)
    }
}
