import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

extension Collector {
    /// Removes chosen entries, except pinned ones if they are to be kept, which are then reported.
    package func purge(
        keepingPinned: Bool, dryRun: Bool, onBatch: ((RemovalReport) -> Void)?, where isChosen: (Entry) -> Bool
    ) async throws -> RemovalReport {
        var removal = try Removal(from: store, isDryRun: dryRun, onBatch: onBatch)
        var pages = EntrySequence(of: store, matching: EntryQuery(order: .creation)).makeAsyncIterator()
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
        var removal = try Removal(from: store, isDryRun: dryRun)
        try await removal.purge(chosen, because: reason, keepingPinned: keepingPinned)
        try await removal.freeSpace()
        return removal.report
    }

    /// Removes one entry, with a reason for the events.
    package func purge(
        _ download: some DownloadKeyConvertible, because reason: Reason
    ) async throws -> RemovalReport {
        let entry = try await EntryReader(store).entry(key: download.downloadKey.rawValue)
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
        let entries = try await EntryReader(store).variants(ofKey: name)
        let own = entries.filter {
            $0.requester.code == nil || $0.requester.isSame(as: identity, key: store.identityKey)
        }
        return try await purge(own, because: reason)
    }
}
