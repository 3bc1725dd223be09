import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// Removes what a store does not need, for a collection, a purge, or the room of a download.
package struct Collector: Sendable {
    let store: DownloadStore

    package init(_ store: DownloadStore) { self.store = store }

    /// Implements ``DownloadStore/collect(maximumSize:maximumAge:dryRun:comparesAll:onBatch:)``.
    func collect(
        maximumSize: Int64? = nil, maximumAge: Duration? = nil, dryRun: Bool = false, comparesAll: Bool = false,
        onBatch: ((RemovalReport) -> Void)? = nil
    ) async throws -> RemovalReport {
        let terms = EvictionTerms(
            now: WallClock.milliseconds, age: (maximumAge ?? store.configuration.maximumAge).wholeSeconds,
            grace: store.configuration.gracePeriod.wholeSeconds, rule: store.configuration.eviction)
        var removal = try Removal(from: store, isDryRun: dryRun, onBatch: onBatch)
        do {
            try await removal.evict(to: maximumSize ?? store.configuration.maximumSize, terms, everywhere: comparesAll)
            try await orphanedBlobs(everywhere: comparesAll, removing: !dryRun) { orphans in
                removal.report.orphans += orphans.map { $0.name.path }
                removal.report.orphanBytes += orphans.reduce(0) { $0 + $1.bytes }
                removal.report.pass(to: onBatch)
            }
            if !dryRun {
                store.folder.fillReserve()
                try await compact()
            }
        } catch {
            await tell(of: removal.report, dryRun: dryRun)
            throw error
        }
        await tell(of: removal.report, dryRun: dryRun)
        return removal.report
    }

    func tell(of report: RemovalReport, dryRun: Bool = false) async {
        guard !dryRun, let tell = store.configuration.onCollection, let totals = try? await store.totals() else {
            return
        }
        tell(report, totals)
    }

    /// Returns the next batch of entries; nil at the end.
    func candidates(_ cursor: inout EntryQuery.Cursor) async throws -> [Connection.Candidate]? {
        if cursor.isAtEnd { return nil }
        let (batch, next) = try await store.read { [cursor] connection in try connection.candidates(at: cursor) }
        cursor = next
        let paused = try StoreError.wrapping { try store.folder.locksThere(.paused) }
        return batch.map { candidate in
            var candidate = candidate
            // A row with an ID that cannot be locked was manipulated.
            candidate.isPaused = candidate.isPaused || (try? paused?.isLocked(candidate.entry.id)) == true
            return candidate
        }
    }

    /// Returns free pages to the file system and removes deleted data from the log.
    func compact() async throws {
        do {
            var free = Int64.max
            while true {
                // In parts, so that writers need not wait for all of them.
                let rest = try await store.database.withConnection { connection in
                    try store.guardLock.shared { try connection.execute("PRAGMA incremental_vacuum(2048)") }
                    try store.checkpointer.relieve(connection)
                    return try connection.count("PRAGMA freelist_count")
                }
                guard rest > 0, rest < free else { break }
                free = rest
            }
            try await store.database.withConnection { connection in try store.checkpointer.truncate(connection) }
        } catch {
            // Not an error: the pages remain unused, and the next collection tries again.
            let failure = StoreError(wrapping: error)
            guard failure.code == .noSpace || failure.code == .busy else { throw failure }
        }
    }
}

/// The rules for removing entries regardless of the size limit.
struct EvictionTerms {
    /// The current time, in milliseconds since 1970.
    var now: Int64
    /// The time in seconds after which an unused entry expires.
    var age: Int64
    /// The time in seconds for which an entry is kept after its server reported that the resource does not exist.
    var grace: Int64
    /// What may be removed.
    var rule: EvictionRule

    /// Whether an entry may be removed, unless it is pinned or in use.
    func permits(_ candidate: Connection.Candidate) -> Bool {
        rule.removes(candidate.group, unusedFor: now - candidate.entry.times.used)
    }

    /// Returns why an entry is removed regardless of the size limit; nil if it is kept, as paused ones are.
    func reason(for candidate: Connection.Candidate) -> Reason? {
        if candidate.isPaused || !permits(candidate) { return nil }
        // An entry from the future (the clock was set back) has not expired.
        if let limit = limit(age), candidate.entry.times.used < limit { return .expired }
        if let limit = limit(grace), let goneAt = candidate.entry.objections.goneAt, goneAt < limit { return .gone }
        return nil
    }

    /// The time that was a number of seconds ago; nil if that is too long ago.
    func limit(_ seconds: Int64) -> Int64? {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : now.addingSaturating(-span)
    }
}

extension Removal {
    /// Removes expired entries and those that the server does not have, then the least recently used ones until the
    /// total is at most `size`; those of jobs and paused ones only if that is not sufficient.
    fileprivate mutating func evict(to size: Int64, _ terms: EvictionTerms, everywhere: Bool) async throws {
        var total = try await store.totals().receivedBytes
        if total > size, !isDryRun {
            // Nothing is removed because of a wrong total.
            try await Collector(store).repairSums()
            total = try await store.totals().receivedBytes
        }
        if let end = terms.limit(terms.age) {
            var cursor = EntryQuery.Cursor(EntryQuery(order: .use, usedBefore: end, isUnpinned: true))
            while let batch = try await Collector(store).candidates(&cursor) {
                let expired = batch.filter { terms.reason(for: $0) == .expired }.map(\.entry)
                try await remove(expired, because: .expired)
            }
        }
        try await inspect(everywhere: everywhere, terms)
        for group in EvictionRule.Group.allCases {
            var cursor = EntryQuery.Cursor(EntryQuery(order: .use, isUnpinned: true))
            while total - freed > size, let batch = try await Collector(store).candidates(&cursor) {
                var rest = ArraySlice(
                    batch.filter {
                        $0.group == group && terms.permits($0) && terms.reason(for: $0) == nil
                            && $0.entry.receivedBytes > 0
                    })
                while total - freed > size, !rest.isEmpty {
                    var chosen: [Entry] = []
                    var excess = total - freed - size
                    while excess > 0, let next = rest.popFirst() {
                        chosen.append(next.entry)
                        excess -= next.entry.receivedBytes
                    }
                    // Entries in use are kept, and the next ones are tried: each iteration shortens the list.
                    try await remove(chosen, because: group.reason)
                }
            }
        }
        guard total - freed > size else { return }
        report.pinned = try await store.read { connection in try connection.pinnedKeys(limit: 1000) }
        report.pass(to: onBatch)
    }
}

extension EvictionRule.Group {
    /// Why an entry is removed to make room.
    fileprivate var reason: Reason {
        switch self {
        case .superseded: Reason("outdated-over-budget")
        case .unused: Reason("over-budget")
        case .job: Reason("job-over-budget")
        case .paused: Reason("paused-over-budget")
        }
    }
}

extension Duration {
    /// The seconds, rounded up, so that nothing is removed before its time.
    fileprivate var wholeSeconds: Int64 { components.seconds.addingSaturating(components.attoseconds > 0 ? 1 : 0) }
}
