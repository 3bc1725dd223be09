import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// The removal of entries by a collection or a purge.
struct Removal {
    let store: DownloadStore
    /// Whether to report what would be removed without removing it.
    let isDryRun: Bool
    /// Receives the entries of each batch; the report then contains the sums only.
    let onBatch: ((RemovalReport) -> Void)?
    /// The removed entries, and those that were kept.
    var report = RemovalReport()
    /// The number of bytes by which the totals decreased.
    private(set) var freed: Int64 = 0

    private let leases: ByteLocks
    private let waiters: ByteLocks

    init(from store: DownloadStore, isDryRun: Bool, onBatch: ((RemovalReport) -> Void)? = nil) throws {
        self.store = store
        self.isDryRun = isDryRun
        self.onBatch = onBatch
        leases = try store.leaseFile()
        waiters = try store.lockFile(.waiters)
    }

    /// The number of entries per transaction, since a million rows should not be removed in a single one.
    static let batch = 256

    /// Removes some entries at a user's request, except pinned ones if they are to be kept, which are then reported.
    mutating func purge(_ chosen: [Entry], because reason: Reason = .purged, keepingPinned: Bool) async throws {
        report.pinned += chosen.filter { keepingPinned && $0.isPinned }.map(\.key)
        try await remove(chosen.filter { !(keepingPinned && $0.isPinned) }, because: reason, kind: .purged)
        report.pass(to: onBatch)
    }

    /// Removes entries that are not in use.
    ///
    /// - Parameters:
    ///   - chosen: The entries.
    ///   - reason: The reason for the events; nil for entries without bytes, of which there is nothing to report.
    ///   - kind: The kind of the events.
    ///   - isRepair: Whether the bytes were lost before, so that none are freed and entries in use are not reported.
    /// - Throws: ``StoreError``.
    mutating func remove(
        _ chosen: [Entry], because reason: Reason?, kind: Event.Kind = .evicted, isRepair: Bool = false
    ) async throws {
        for start in stride(from: 0, to: chosen.count, by: Self.batch) {
            let batch = Array(chosen[start..<min(start + Self.batch, chosen.count)])
            let before = freed
            do {
                try await removeBatch(batch, reason, kind, isRepair)
            } catch let error as StoreError where error.code == .noSpace && !isDryRun {
                // Even a DELETE needs pages in the log, for which the reserve is kept.
                store.folder.giveUpReserve()
                var failure: (any Error)?
                for entry in batch {
                    do {
                        try await removeBatch([entry], reason, kind, isRepair)
                    } catch let error as StoreError where error.code == .noSpace {
                        // A smaller entry may need fewer pages, and makes space for this one.
                        failure = error
                    }
                }
                if let failure, freed == before { throw failure }
            }
            report.pass(to: onBatch)
        }
    }

    private mutating func removeBatch(
        _ chosen: [Entry], _ reason: Reason?, _ kind: Event.Kind, _ isRepair: Bool
    ) async throws {
        // A row with an ID that cannot be locked (because it was manipulated) counts as in use.
        let idle = chosen.filter {
            (try? leases.tryLock($0.id)) == true && (try? waiters.isLocked($0.id)) == false
        }
        // The locks are held until the files are removed.
        defer { for entry in chosen { leases.unlock(entry.id) } }
        // Before the row is removed, since only the row has the destination; and outside the transaction, since the
        // destination may be on a disk that does not respond.
        if !isDryRun { try await Blocking.run { idle.forEach { $0.removeLeftovers() } } }
        let isDryRun = isDryRun
        let (removed, blobs, bytes) = try await store.write { connection in
            var removed: [Event] = []
            var blobs: [BlobName] = []
            var bytes: Int64 = 0
            for entry in idle {
                // Chosen before it was locked: it is kept if it has been used or pinned since.
                guard let current = try connection.entry(id: entry.id), current.times == entry.times,
                    current.objections.goneAt == entry.objections.goneAt, current.isPinned == entry.isPinned,
                    !isRepair || current == entry
                else { continue }
                if !isRepair || !isDryRun { bytes = bytes.addingSaturating(current.receivedBytes) }
                if !isDryRun { blobs += try connection.remove(current) }
                guard let reason else { continue }
                let event = Event(
                    key: current.key, at: WallClock.milliseconds, kind: kind, reason: reason,
                    bytes: current.receivedBytes)
                var reported = event
                reported.jobDestination = isRepair ? nil : try connection.destinationOfJob(for: current.name)
                if isRepair { reported.bytes = 0 }
                removed.append(reported)
                guard !isDryRun else { continue }
                // After a purge, only this event of the download is kept.
                if kind == .purged { try connection.run("DELETE FROM event WHERE key = ?", entry.key) }
                try connection.noteRemoval(of: entry.name, event)
                try connection.record(event)
            }
            return (removed, blobs, bytes)
        }
        KillPoint.reached(.evictionCommitted)
        let checkpointer = store.checkpointer
        try? await store.database.withConnection { connection in try checkpointer.relieve(connection) }
        try store.folder.remove(blobs)
        if !isRepair {
            let known = Set(idle.map(\.id))
            report.inUse += chosen.filter { !known.contains($0.id) }.map(\.key)
        }
        report.removed += removed
        freed = freed.addingSaturating(bytes)
    }

    /// Fills the reserve and returns free pages to the file system if entries were removed.
    func freeSpace() async throws {
        guard !isDryRun, report.removedCount > 0 else { return }
        store.folder.fillReserve()
        try await Collector(store).compact()
    }
}

extension Entry {
    /// Removes a second name or a copy of the blob that an interrupted delivery left next to its destination.
    ///
    /// The entry must be locked, so that no delivery is running.
    func removeLeftovers() {
        // Also for partial entries: a small download is delivered without being recorded as complete.
        guard let destination = destination.flatMap({ try? Destination($0) }),
            let folder = try? Folder(destination.folder, followsLinks: true)
        else { return }
        for chunk in chunks {
            guard let blob = BlobName(path: chunk.path) else { continue }
            _ = try? folder.remove(Destination.stagingName(for: blob))
        }
    }
}
