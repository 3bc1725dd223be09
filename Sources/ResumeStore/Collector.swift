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
        let entries = try await read { connection in try connection.entries() }
        let candidates = entries.filter { !$0.isPinned }
        var total = try await totals().receivedBytes
        // An entry of the future (the clock was set back) is young, not expired.
        let isExpired: (Entry) -> Bool = { Self.isOver(age, since: $0.usedAt, now: now) }
        let grace = configuration.gracePeriod
        let isGone: (Entry) -> Bool = { $0.goneAt.map { Self.isOver(grace, since: $0, now: now) } ?? false }
        let expired = candidates.filter(isExpired)
        let gone = candidates.filter { isGone($0) && !isExpired($0) }
        for (removed, reason) in [(expired, Reason.expired), (gone, .gone)] {
            for batch in removed.chunked(by: Self.batch) {
                let freed = try await remove(batch, because: reason, kind: .evicted, dryRun: dryRun, into: &report)
                total = total.addingSaturating(-freed)
            }
        }
        var rest = ArraySlice(candidates.filter { !isExpired($0) && !isGone($0) && $0.receivedBytes > 0 })
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
        guard total > size else { return }
        let pinned = entries.filter { $0.isPinned && $0.receivedBytes > 0 }
        report.pinned = pinned.sorted { $0.receivedBytes > $1.receivedBytes }.map(\.key)
    }

    private static func isOver(_ seconds: Int64, since start: Int64, now: Int64) -> Bool {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && now - start > span
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

extension Reason {
    static let expired = Reason(code: .init(rawValue: "expired"), text: "not used for longer than the maximum age")
    static let gone = Reason(
        code: .init(rawValue: "gone"),
        text: "the server has reported for some time that the file does not exist (404, 410)")
    static let overBudget = Reason(
        code: .init(rawValue: "over-budget"),
        text: "the store exceeded its size limit and this entry was the least recently used")
    static let purged = Reason(code: .init(rawValue: "purged"), text: "removed on request")
}
