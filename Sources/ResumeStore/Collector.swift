public import ResumeHTTP
internal import ResumeSQLite

/// What was taken away, or would be.
public struct RemovalReport: Sendable {
    /// An entry that was removed.
    public struct Removed: Sendable, Hashable {
        /// What names it.
        public var key: String
        /// How many bytes it held.
        public var bytes: Int64
        /// Why it was chosen.
        public var reason: Reason
    }

    /// The entries removed, in the order in which they were chosen.
    public var removed: [Removed] = []
    /// Keys of entries that were chosen but are in use; they were left alone.
    public var inUse: [String] = []
    /// Files without a row that were removed, relative to the store.
    public var orphans: [String] = []
    /// Bytes that files without a row took up.
    public var orphanBytes: Int64 = 0

    /// How many bytes were freed.
    public var freedBytes: Int64 { removed.reduce(orphanBytes) { $0.addingSaturating($1.bytes) } }
}

extension DownloadStore {
    /// Applies a budget: removes expired entries, then the least recently used ones until the rest fits; then files
    /// without a row and rows without a file.
    ///
    /// Whole entries only, never a pinned one, never one that is in use. Each is chosen and deleted in one
    /// transaction under its lock, its row first and its file after.
    ///
    /// - Parameters:
    ///   - maximumSize: How many bytes may be held; nil for the configured budget.
    ///   - maximumAge: How long an entry may lie unused, in seconds; nil for the configured time.
    ///   - dryRun: Only say what would be removed.
    /// - Returns: What was removed, and what would have been but for its being in use.
    /// - Throws: ``StoreError``
    public func collect(
        maximumSize: Int64? = nil, maximumAge: Int64? = nil, dryRun: Bool = false
    ) async throws -> RemovalReport {
        let size = maximumSize ?? configuration.maximumSize
        let age = maximumAge ?? configuration.maximumAge
        var report = RemovalReport()
        do {
            try await evict(to: size, olderThan: age, dryRun: dryRun, into: &report)
            try await sweep(dryRun: dryRun, into: &report)
            if !dryRun {
                folder.fillReserve()
                try await compact()
            }
        } catch {
            await tell(of: report, dryRun: dryRun)
            throw error
        }
        await tell(of: report, dryRun: dryRun)
        return report
    }

    private func tell(of report: RemovalReport, dryRun: Bool) async {
        guard !dryRun, let tell = configuration.onCollection, let totals = try? await totals() else { return }
        tell(report, totals)
    }

    /// Expired entries first, then the least recently used until the sum is at most `size`.
    private func evict(to size: Int64, olderThan age: Int64, dryRun: Bool, into report: inout RemovalReport)
        async throws
    {
        let now = WallClock.milliseconds
        let candidates = try await read { connection in try connection.entries() }.filter { !$0.isPinned }
        var total = try await totals().receivedBytes
        // An entry of the future (the clock was set back) is young, not expired.
        let isExpired: (Entry) -> Bool = { Self.isOver(age, since: $0.usedAt, now: now) }
        let grace = configuration.gracePeriod
        let isGone: (Entry) -> Bool = { $0.goneAt.map { Self.isOver(grace, since: $0, now: now) } ?? false }
        let expired = candidates.filter(isExpired)
        let gone = candidates.filter { isGone($0) && !isExpired($0) }
        for (entries, reason) in [(expired, Reason.expired), (gone, .gone)] {
            for batch in entries.chunked(by: Self.batch) {
                let freed = try await remove(batch, because: reason, kind: .evicted, dryRun: dryRun, into: &report)
                total = total.addingSaturating(-freed)
            }
        }
        var rest = candidates.filter { !isExpired($0) && !isGone($0) && $0.receivedBytes > 0 }[...]
        while total > size, !rest.isEmpty {
            var chosen: [Entry] = []
            var excess = total - size
            while excess > 0, chosen.count < Self.batch, let next = rest.popFirst() {
                chosen.append(next)
                excess -= next.receivedBytes
            }
            // What is in use stays, and the next ones in order are tried: each turn shortens the list.
            let freed = try await remove(
                chosen, because: .overBudget, kind: .evicted, dryRun: dryRun, into: &report)
            total = total.addingSaturating(-freed)
        }
    }

    private static func isOver(_ seconds: Int64, since start: Int64, now: Int64) -> Bool {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && now - start > span
    }

    /// Removes the entries of a person's or program's choice.
    ///
    /// - Parameters:
    ///   - dryRun: Only say what would be removed.
    ///   - isChosen: Which entries.
    /// - Returns: What was removed, and what would have been but for its being in use.
    /// - Throws: ``StoreError``
    public func purge(dryRun: Bool = false, where isChosen: @Sendable (Entry) -> Bool) async throws -> RemovalReport {
        try await purge(try await read { connection in try connection.entries() }.filter(isChosen), dryRun: dryRun)
    }

    /// Removes one entry.
    ///
    /// - Returns: What was removed, or is in use; nothing where there is no such entry.
    /// - Throws: ``StoreError``
    public func purge(key: String) async throws -> RemovalReport {
        let entry = try await read { connection in try connection.entry(key: key) }
        return try await purge(entry.map { [$0] } ?? [], dryRun: false)
    }

    private func purge(_ chosen: [Entry], dryRun: Bool) async throws -> RemovalReport {
        var report = RemovalReport()
        for entries in chosen.chunked(by: Self.batch) {
            _ = try await remove(entries, because: .purged, kind: .purged, dryRun: dryRun, into: &report)
        }
        if !dryRun, !report.removed.isEmpty {
            folder.fillReserve()
            try await compact()
        }
        return report
    }

    /// How many entries go in one transaction: a million rows must not be one.
    private static let batch = 256

    /// Removes entries that are idle.
    ///
    /// - Returns: How many bytes of the totals that freed.
    private func remove(
        _ chosen: [Entry], because reason: Reason, kind: Event.Kind, dryRun: Bool, into report: inout RemovalReport
    ) async throws -> Int64 {
        do {
            return try await removeBatch(chosen, because: reason, kind: kind, dryRun: dryRun, into: &report)
        } catch let error as StoreError where error.code == .noSpace && !dryRun {
            // Even a DELETE needs pages of log. They are kept aside for this.
            folder.giveUpReserve()
            var freed: Int64 = 0
            var failure: (any Error)?
            for entry in chosen {
                do {
                    freed = freed.addingSaturating(
                        try await removeBatch([entry], because: reason, kind: kind, dryRun: false, into: &report))
                } catch let error as StoreError where error.code == .noSpace {
                    // A smaller one may need fewer, and makes room for this one.
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
        let leases = try leaseFile()
        let waiters: ByteLocks
        do {
            waiters = try folder.locks(.waiters)
        } catch {
            throw StoreError(wrapping: error)
        }
        // A row whose number no lock can have (it was planted) counts as in use.
        let idle = chosen.filter {
            (try? leases.tryLock($0.id)) == true && (try? waiters.isLocked($0.id)) == false
        }
        // Before the row goes, since nobody else knows where it lies; and before the transaction, since a destination
        // may be on a disk that does not answer.
        if !dryRun { try await Blocking.run { idle.forEach(Self.removeLeftovers) } }
        let outcome: (removed: [Entry], blobs: [BlobName]) = try await write { connection in
            var removed: [Entry] = []
            var blobs: [BlobName] = []
            for entry in idle {
                // Chosen before the lock was had: only what has not been used since is removed.
                guard let current = try connection.entry(id: entry.id), current.usedAt == entry.usedAt,
                    current.goneAt == entry.goneAt
                else { continue }
                removed.append(current)
                guard !dryRun else { continue }
                blobs += try connection.remove(current)
                // Who purges wants it gone: of what happened to it only this is kept.
                if kind == .purged { try connection.run("DELETE FROM event WHERE key = ?", .text(entry.key)) }
                try connection.record(
                    Event(
                        key: entry.key, at: WallClock.milliseconds, kind: kind, reason: reason,
                        bytes: current.receivedBytes))
            }
            return (removed, blobs)
        }
        KillPoint.reached(.evictionCommitted)
        try removeBlobs(outcome.blobs)
        // The locks are held until the files are gone.
        withExtendedLifetime(leases) {}
        let known = Set(idle.map(\.id))
        report.inUse += chosen.filter { !known.contains($0.id) }.map(\.key)
        report.removed += outcome.removed.map {
            RemovalReport.Removed(key: $0.key, bytes: $0.receivedBytes, reason: reason)
        }
        return outcome.removed.reduce(0) { $0.addingSaturating($1.receivedBytes) }
    }

    /// Removes a second name of the blob, or a copy, that a delivery that died has left beside its destination.
    ///
    /// To be called under the entry's lock: then no delivery is under way.
    @Sendable static func removeLeftovers(of entry: Entry) {
        // A short whole is delivered without being recorded as complete.
        guard let destination = entry.destination.flatMap({ try? Destination($0) }),
            let folder = try? Folder(destination.folder, followsLinks: true)
        else { return }
        for chunk in entry.chunks {
            guard let blob = BlobName(path: chunk.path) else { continue }
            _ = try? folder.remove(Destination.stagingName(for: blob))
        }
    }

    /// Gives freed pages back to the file system and leaves nothing of what was deleted in the log.
    private func compact() async throws {
        let (lock, checkpointer) = (guardLock, checkpointer)
        do {
            try await database.withConnection { connection in
                try lock.shared { try connection.execute("PRAGMA incremental_vacuum") }
                try checkpointer.truncate(connection)
            }
        } catch {
            // Nothing depends on it: the pages stay free, and the next collection tries again.
            let failure = StoreError(wrapping: error)
            guard failure.code == .noSpace || failure.code == .busy else { throw failure }
        }
    }
}

extension Array {
    /// The elements in order, in arrays of at most `count`.
    fileprivate func chunked(by count: Int) -> [[Element]] {
        stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
    }
}

extension Reason {
    static let expired = Reason(code: .init(rawValue: "expired"), text: "It had not been used for too long.")
    static let gone = Reason(
        code: .init(rawValue: "gone"), text: "The server has said for a while that there is no such file (404, 410).")
    static let overBudget = Reason(
        code: .init(rawValue: "over-budget"), text: "The store was over its size, and this was used least recently.")
    static let purged = Reason(code: .init(rawValue: "purged"), text: "It was asked for.")
}
