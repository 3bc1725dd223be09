internal import ResumeFiles
public import ResumeHTTP
internal import ResumeSQLite

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
        var report = RemovalReport()
        var pages = entries(matching: EntryQuery(order: .creation)).makeAsyncIterator()
        while let page = try await pages.nextPage() {
            try await purge(page.filter(isChosen), keepingPinned: keepingPinned, dryRun: dryRun, into: &report)
            report.pass(to: onBatch)
        }
        if !dryRun {
            try await repairSums()
            try await afterPurge(report)
        }
        return report
    }

    /// Removes some entries, except pinned ones if they are to be kept, which are then reported.
    package func purge(_ chosen: [Entry], keepingPinned: Bool, dryRun: Bool) async throws -> RemovalReport {
        var report = RemovalReport()
        for entries in chosen.chunked(by: Self.batch) {
            try await purge(entries, keepingPinned: keepingPinned, dryRun: dryRun, into: &report)
        }
        if !dryRun { try await afterPurge(report) }
        return report
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
        let key = download.downloadKey.rawValue
        let entry = try await read { connection in try connection.entry(key: key) }
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
        let identityKey = identityKey
        let entries = try await read { connection in
            try connection.variants(of: name)
                .filter { $0.requester.code == nil || $0.requester.isSame(as: identity, key: identityKey) }
                .compactMap { try connection.entry(key: Variant.key(name, $0.number)) }
        }
        return try await purge(entries, because: reason)
    }

    private func purge(_ chosen: [Entry], because reason: Reason) async throws -> RemovalReport {
        var report = RemovalReport()
        _ = try await remove(chosen, because: reason, kind: .purged, dryRun: false, into: &report)
        try await afterPurge(report)
        return report
    }

    private func purge(
        _ chosen: [Entry], keepingPinned: Bool, dryRun: Bool, into report: inout RemovalReport
    ) async throws {
        let removable = chosen.filter { !(keepingPinned && $0.isPinned) }
        report.pinned += chosen.filter { keepingPinned && $0.isPinned }.map(\.key)
        guard !removable.isEmpty else { return }
        _ = try await remove(removable, because: .purged, kind: .purged, dryRun: dryRun, into: &report)
    }

    private func afterPurge(_ report: RemovalReport) async throws {
        guard report.removedCount > 0 else { return }
        folder.fillReserve()
        try await compact()
    }

    /// The number of entries per transaction, since a million rows should not be removed in a single one.
    static let batch = 256

    /// Removes entries that are not in use.
    ///
    /// - Returns: The number of bytes by which the totals decreased.
    func remove(
        _ chosen: [Entry], because reason: Reason, kind: Event.Kind, dryRun: Bool, into report: inout RemovalReport
    ) async throws -> Int64 {
        do {
            return try await removeBatch(chosen, because: reason, kind: kind, dryRun: dryRun, into: &report)
        } catch let error as StoreError where error.code == .noSpace && !dryRun {
            // Even a DELETE needs pages in the log, for which the reserve is kept.
            folder.giveUpReserve()
            var freed: Int64 = 0
            var failure: (any Error)?
            for entry in chosen {
                do {
                    freed = freed.addingSaturating(
                        try await removeBatch([entry], because: reason, kind: kind, dryRun: false, into: &report))
                } catch let error as StoreError where error.code == .noSpace {
                    // A smaller entry may need fewer pages, and makes space for this one.
                    failure = error
                }
            }
            if let failure, freed == 0 { throw failure }
            return freed
        }
    }

    private func removeBatch(
        _ chosen: [Entry], because reason: Reason, kind: Event.Kind, dryRun: Bool, into report: inout RemovalReport
    ) async throws -> Int64 {
        let (leases, waiters) = (try leaseFile(), try lockFile(.waiters))
        // A row with an ID that cannot be locked (because it was manipulated) counts as in use.
        let idle = chosen.filter {
            (try? leases.tryLock($0.id)) == true && (try? waiters.isLocked($0.id)) == false
        }
        // Before the row is removed, since only the row has the destination; and outside the transaction, since the
        // destination may be on a disk that does not respond.
        if !dryRun { try await Blocking.run { idle.forEach(Self.removeLeftovers) } }
        let now = WallClock.milliseconds
        let outcome: (removed: [Event], blobs: [BlobName]) = try await write { connection in
            var removed: [Event] = []
            var blobs: [BlobName] = []
            for entry in idle {
                // Chosen before it was locked: it is kept if it has been used or pinned since.
                guard let current = try connection.entry(id: entry.id), current.usedAt == entry.usedAt,
                    current.goneAt == entry.goneAt, current.isPinned == entry.isPinned
                else { continue }
                var event = Event(
                    key: current.key, at: now, kind: kind, reason: reason, bytes: current.receivedBytes)
                event.jobDestination = try connection.destinationOfJob(for: current.name)
                removed.append(event)
                guard !dryRun else { continue }
                blobs += try connection.remove(current)
                // After a purge, only this event of the download is kept.
                if kind == .purged { try connection.run("DELETE FROM event WHERE key = ?", entry.key) }
                if kind == .evicted {
                    try connection.noteEviction(of: entry.name, bytes: current.receivedBytes, because: reason)
                }
                try connection.record(kind, key: entry.key, reason: reason, bytes: current.receivedBytes)
            }
            return (removed, blobs)
        }
        KillPoint.reached(.evictionCommitted)
        let checkpointer = checkpointer
        try? await database.withConnection { connection in try checkpointer.relieve(connection) }
        try removeBlobs(outcome.blobs)
        // The locks are held until the files are removed.
        withExtendedLifetime(leases) {}
        let known = Set(idle.map(\.id))
        report.inUse += chosen.filter { !known.contains($0.id) }.map(\.key)
        report.removed += outcome.removed
        return outcome.removed.reduce(0) { $0.addingSaturating($1.bytes) }
    }

    /// Removes a second name or a copy of the blob that an interrupted delivery left next to its destination.
    ///
    /// The entry must be locked, so that no delivery is running.
    @Sendable static func removeLeftovers(of entry: Entry) {
        // Also for partial entries: a small download is delivered without being recorded as complete.
        guard let destination = entry.destination.flatMap({ try? Destination($0) }),
            let folder = try? Folder(destination.folder, followsLinks: true)
        else { return }
        for chunk in entry.chunks {
            guard let blob = BlobName(path: chunk.path) else { continue }
            _ = try? folder.remove(Destination.stagingName(for: blob))
        }
    }
}

extension Array {
    /// Returns the elements in order, in arrays of at most `count`.
    func chunked(by count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}
