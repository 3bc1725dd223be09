internal import ResumeFiles
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
    /// Keys of pinned entries, which are left alone, where the store stays over its budget; largest first.
    public var pinned: [String] = []
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
    /// What a queue or a task has paused does not expire, and goes only where nothing else is left to make room.
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

    /// Expired entries first, then the least recently used until the sum is at most `size`; what is paused only where
    /// that is not enough.
    private func evict(to size: Int64, olderThan age: Int64, dryRun: Bool, into report: inout RemovalReport)
        async throws
    {
        let terms = EvictionTerms(now: WallClock.milliseconds, age: age, grace: configuration.gracePeriod)
        var total = try await totals().receivedBytes
        if total > size, !dryRun {
            // Nothing is given up for a sum that is wrong.
            try await repairSums()
            total = try await totals().receivedBytes
        }
        for reason in [Reason.expired, .gone] {
            var cursor = CandidateCursor(isOnlyGone: reason == .gone)
            while let batch = try await candidates(&cursor) {
                let chosen = batch.filter { terms.reason(for: $0) == reason }.map(\.entry)
                if !chosen.isEmpty {
                    let freed = try await remove(chosen, because: reason, kind: .evicted, dryRun: dryRun, into: &report)
                    total = total.addingSaturating(-freed)
                }
                // They come by their last use.
                if reason == .expired, batch.last.map({ !terms.isExpired($0.entry) }) ?? false { break }
            }
        }
        for isPaused in [false, true] {
            var cursor = CandidateCursor()
            while total > size, let batch = try await candidates(&cursor) {
                var rest = ArraySlice(
                    batch.filter {
                        $0.isPaused == isPaused && terms.reason(for: $0) == nil && $0.entry.receivedBytes > 0
                    })
                while total > size, !rest.isEmpty {
                    var chosen: [Entry] = []
                    var excess = total - size
                    while excess > 0, let next = rest.popFirst() {
                        chosen.append(next.entry)
                        excess -= next.entry.receivedBytes
                    }
                    // What is in use stays, and the next ones in order are tried: each turn shortens the list.
                    let freed = try await remove(
                        chosen, because: isPaused ? .pausedOverBudget : .overBudget, kind: .evicted, dryRun: dryRun,
                        into: &report)
                    total = total.addingSaturating(-freed)
                }
            }
        }
        guard total > size else { return }
        report.pinned = try await read { connection in try connection.pinnedKeys() }
    }

    /// The next entries of a walk; nil at its end.
    private func candidates(_ cursor: inout CandidateCursor) async throws -> [Candidate]? {
        guard cursor.position != nil else { return nil }
        let start = cursor
        let (batch, next) = try await read { connection in
            var cursor = start
            return (try connection.candidates(&cursor, limit: Self.batch), cursor)
        }
        cursor = next
        do {
            let paused = try folder.locksThere(.paused)
            return batch.map { candidate in
                // A row whose number no lock can have was planted.
                let isPaused = candidate.isPaused || (try? paused?.isLocked(candidate.entry.id)) == true
                return Candidate(entry: candidate.entry, isPaused: isPaused)
            }
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    /// Gives freed pages back to the file system and leaves nothing of what was deleted in the log.
    func compact() async throws {
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

/// Why entries go that the store has room for.
private struct EvictionTerms {
    /// In milliseconds since 1970.
    var now: Int64
    /// How long an entry may lie unused, in seconds.
    var age: Int64
    /// How long an entry may be gone from its server, in seconds.
    var grace: Int64

    /// Why an entry goes whatever room there is; nil where it stays, as all that is paused does.
    func reason(for candidate: Candidate) -> Reason? {
        if candidate.isPaused { return nil }
        if isExpired(candidate.entry) { return .expired }
        return candidate.entry.goneAt.map { isOver(grace, since: $0) } ?? false ? .gone : nil
    }

    /// An entry of the future (the clock was set back) is young, not expired.
    func isExpired(_ entry: Entry) -> Bool { isOver(age, since: entry.usedAt) }

    private func isOver(_ seconds: Int64, since start: Int64) -> Bool {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && now - start > span
    }
}

extension Reason {
    static let expired = Reason(code: .init(rawValue: "expired"), text: "not used for longer than the maximum age")
    static let gone = Reason(
        code: .init(rawValue: "gone"),
        text: "the server has reported for some time that the file does not exist (404, 410)")
    static let overBudget = Reason(
        code: .init(rawValue: "over-budget"),
        text: "the store exceeded its size limit and this entry was the least recently used")
    static let pausedOverBudget = Reason(
        code: .init(rawValue: "paused-over-budget"),
        text: "the store exceeded its size limit and only paused downloads were left; "
            + "this one was the least recently used")
    static let purged = Reason(code: .init(rawValue: "purged"), text: "removed on request")
}
