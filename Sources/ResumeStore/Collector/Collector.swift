internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

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
        let size = maximumSize ?? configuration.maximumSize
        let age = (maximumAge ?? configuration.maximumAge).wholeSeconds
        var report = RemovalReport()
        do {
            let terms = EvictionTerms(
                now: WallClock.milliseconds, age: age, grace: configuration.gracePeriod.wholeSeconds,
                rule: configuration.eviction)
            try await evict(to: size, terms, dryRun: dryRun, everywhere: comparesAll, into: &report, onBatch)
            try await orphanedBlobs(everywhere: comparesAll, removing: !dryRun) { orphans in
                report.orphans += orphans.map { $0.name.path }
                report.orphanBytes += orphans.reduce(0) { $0 + $1.bytes }
                report.pass(to: onBatch)
            }
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

    func tell(of report: RemovalReport, dryRun: Bool = false) async {
        guard !dryRun, let tell = configuration.onCollection, let totals = try? await totals() else { return }
        tell(report, totals)
    }

    /// Removes expired entries and those that the server does not have, then the least recently used ones until the
    /// total is at most `size`; those of jobs and paused ones only if that is not sufficient.
    private func evict(
        to size: Int64, _ terms: EvictionTerms, dryRun: Bool, everywhere: Bool, into report: inout RemovalReport,
        _ onBatch: ((RemovalReport) -> Void)?
    ) async throws {
        var total = try await totals().receivedBytes
        if total > size, !dryRun {
            // Nothing is removed because of a wrong total.
            try await repairSums()
            total = try await totals().receivedBytes
        }
        if let end = terms.lastExpired {
            var cursor = CandidateCursor(.use(until: end))
            while let batch = try await candidates(&cursor) {
                let chosen = batch.filter { terms.reason(for: $0) == .expired }.map(\.entry)
                if chosen.isEmpty { continue }
                let freed = try await remove(chosen, because: .expired, kind: .evicted, dryRun: dryRun, into: &report)
                total = total.addingSaturating(-freed)
                report.pass(to: onBatch)
            }
        }
        let freed = try await inspect(everywhere: everywhere, terms, dryRun: dryRun, into: &report, onBatch)
        total = total.addingSaturating(-freed)
        for group in EvictionRule.Group.allCases {
            var cursor = CandidateCursor(.use(until: .max))
            while total > size, let batch = try await candidates(&cursor) {
                var rest = ArraySlice(
                    batch.filter {
                        $0.group == group && terms.permits($0) && terms.reason(for: $0) == nil
                            && $0.entry.receivedBytes > 0
                    })
                while total > size, !rest.isEmpty {
                    var chosen: [Entry] = []
                    var excess = total - size
                    while excess > 0, let next = rest.popFirst() {
                        chosen.append(next.entry)
                        excess -= next.entry.receivedBytes
                    }
                    // Entries in use are kept, and the next ones are tried: each iteration shortens the list.
                    let freed = try await remove(
                        chosen, because: group.reason, kind: .evicted, dryRun: dryRun, into: &report)
                    total = total.addingSaturating(-freed)
                    report.pass(to: onBatch)
                }
            }
        }
        guard total > size else { return }
        report.pinned = try await read { connection in try connection.pinnedKeys(limit: 1000) }
        report.pass(to: onBatch)
    }

    /// Returns the next batch of entries; nil at the end.
    func candidates(_ cursor: inout CandidateCursor) async throws -> [Candidate]? {
        guard cursor.position != nil else { return nil }
        let start = cursor
        let (batch, next) = try await read { connection in
            var cursor = start
            return (try connection.candidates(&cursor, limit: Self.batch), cursor)
        }
        cursor = next
        let paused = try StoreError.wrapping { try folder.locksThere(.paused) }
        return batch.map { candidate in
            // A row with an ID that cannot be locked was manipulated.
            let isPaused = candidate.isPaused || (try? paused?.isLocked(candidate.entry.id)) == true
            var known = candidate
            known.isPaused = isPaused
            return known
        }
    }

    /// Returns free pages to the file system and removes deleted data from the log.
    func compact() async throws {
        let (lock, checkpointer) = (guardLock, checkpointer)
        do {
            var free = Int64.max
            while true {
                // In parts, so that writers need not wait for all of them.
                let rest = try await database.withConnection { connection in
                    try lock.shared { try connection.execute("PRAGMA incremental_vacuum(2048)") }
                    try checkpointer.relieve(connection)
                    return try connection.count("PRAGMA freelist_count")
                }
                guard rest > 0, rest < free else { break }
                free = rest
            }
            try await database.withConnection { connection in try checkpointer.truncate(connection) }
        } catch {
            // Not an error: the pages remain unused, and the next collection tries again.
            let failure = StoreError(wrapping: error)
            guard failure.code == .noSpace || failure.code == .busy else { throw failure }
        }
    }
}

extension EvictionRule.Group {
    /// Why an entry is removed to make room.
    fileprivate var reason: Reason {
        switch self {
        case .superseded: .outdatedOverBudget
        case .unused: .overBudget
        case .job: .jobOverBudget
        case .paused: .pausedOverBudget
        }
    }
}

/// The rules for removing entries regardless of the size limit.
struct EvictionTerms: Sendable {
    /// The current time, in milliseconds since 1970.
    var now: Int64
    /// The time in seconds after which an unused entry expires.
    var age: Int64
    /// The time in seconds for which an entry is kept after its server reported that the resource does not exist.
    var grace: Int64
    /// What may be removed.
    var rule: EvictionRule

    /// Whether an entry may be removed, unless it is pinned or in use.
    func permits(_ candidate: Candidate) -> Bool {
        let time = now.addingSaturating(candidate.entry.usedAt == .min ? .max : -candidate.entry.usedAt)
        return rule.removes(candidate.group, unusedFor: time)
    }

    /// Returns why an entry is removed regardless of the size limit; nil if it is kept, as paused ones are.
    func reason(for candidate: Candidate) -> Reason? {
        if candidate.isPaused || !permits(candidate) { return nil }
        if isExpired(candidate.entry) { return .expired }
        return candidate.entry.goneAt.map { isOver(grace, since: $0) } ?? false ? .gone : nil
    }

    /// The last use of the latest entry that has expired; nil if none can have.
    var lastExpired: Int64? {
        let (span, overflow) = age.multipliedReportingOverflow(by: 1000)
        return overflow ? nil : now.addingSaturating(span == .min ? .max : -span).addingSaturating(-1)
    }

    /// Whether an entry has expired; one from the future (the clock was set back) has not.
    func isExpired(_ entry: Entry) -> Bool { isOver(age, since: entry.usedAt) }

    private func isOver(_ seconds: Int64, since start: Int64) -> Bool {
        let (span, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return !overflow && now - start > span
    }
}

extension Reason {
    static let expired = Reason("expired", "not used for longer than the maximum age")
    static let gone = Reason(
        "gone", "the server has reported for some time that the file does not exist (404, 410)")
    static let outdatedOverBudget = Reason(
        "outdated-over-budget", "room was needed, and newer data of the same download replaces this entry")
    static let overBudget = Reason(
        "over-budget", "room was needed, and this entry was the least recently used")
    static let jobOverBudget = Reason(
        "job-over-budget",
        "room was needed and no others were left; a job that is not done was set back by these bytes")
    static let pausedOverBudget = Reason(
        "paused-over-budget",
        "room was needed and only paused downloads were left; this one was the least recently used")
    static let purged = Reason("purged", "removed on request")
}

extension Duration {
    /// The seconds, rounded up, so that nothing is removed before its time.
    fileprivate var wholeSeconds: Int64 { components.seconds.addingSaturating(components.attoseconds > 0 ? 1 : 0) }
}
