import ResumeFiles
package import ResumeHTTP
import ResumeSQLite
import Synchronization

/// The jobs of one queue: that of the command line, which several processes may work on, or that of a program.
///
/// A kernel lock holds the queue, and ends with this object or with the process. In a shared queue, each job is locked
/// by the process that runs it, so a row that says 'running' without a lock waits to be continued.
package final class JobTable: Sendable {
    /// The name of the queue of the command line.
    static let queueName = "resumectl"
    /// How many finished jobs are kept, and for how long in milliseconds.
    private static let kept = (most: 100_000 as Int64, age: 30 * 86_400_000 as Int64)

    let store: DownloadStore
    let queue: Int64
    private let queues: ByteLocks
    private let jobs: ByteLocks
    /// The hashes of the destinations of this run, since others need no look-up for a clash; nil if not all are known.
    private let known = Mutex<Set<Int>?>([])
    /// The number of this run.
    let list: Int64

    init(store: DownloadStore, queue: Int64, after last: Int64, queues: ByteLocks, jobs: ByteLocks) {
        self.store = store
        self.queue = queue
        self.queues = queues
        self.jobs = jobs
        // Larger than those of earlier runs, even if the clock was set back, and so not 0; different from those of
        // others at the same time.
        let first = max(WallClock.milliseconds &* 1000, last)
        list = first + min(Int64.random(in: 1..<1000), .max - first)
    }

    /// Lets others open the queue.
    package func close() { queues.unlock(queue) }

    package var identityKey: HashKey { store.identityKey }

    /// Returns the lists of runs that were interrupted: they have jobs that were not tried to the end.
    package func unfinishedLists() async throws -> Set<Int64> {
        // One step of the index for each list; DISTINCT would read all rows.
        let sql = """
            WITH RECURSIVE left (list) AS (
                SELECT min(list) FROM queued WHERE queue = ?1 AND state <> 'failed'
                UNION ALL
                SELECT (SELECT min(list) FROM queued WHERE queue = ?1 AND state <> 'failed' AND list > left.list)
                FROM left WHERE left.list IS NOT NULL)
            SELECT list FROM left WHERE list IS NOT NULL AND EXISTS (
                SELECT 1 FROM queued WHERE queue = ?1 AND state <> 'failed' AND list = left.list AND failure IS NULL)
            """
        return Set(try await store.read { [queue] connection in try connection.rows(sql, queue) { $0.integer(0) } })
    }

    /// Records jobs in one transaction that survives a power loss.
    ///
    /// - Parameters:
    ///   - new: The jobs.
    ///   - listing: How they are recorded.
    /// - Returns: What became of each.
    /// - Throws: ``StoreError``
    package func enlist(_ new: [NewJob], as listing: Listing) async throws -> [Enlisted] {
        var listing = listing
        listing.list = list
        listing.queue = queue
        listing.key = identityKey
        return try await store.write(durability: .power) { [listing, self] connection in
            let areNew = known.withLock { known in
                // A number is added to the destination later, and the hashes must not fill the memory.
                if listing.renames || known?.count ?? 0 > 1 << 18 { known = nil }
                // All are added, also if the first one is known.
                return new.count { known?.insert($0.destination.hashValue).inserted != true } == 0
            }
            let enlisted = try connection.enlist(new, as: listing, areNew: areNew)
            for case .due(let id, _) in enlisted where listing.isDone {
                try connection.setJob(id, in: queue, to: .done, because: nil, isRun: false)
            }
            return enlisted
        }
    }

    /// Returns the IDs in a range of jobs that are left to do, in order, at most a number of them.
    package func left(in ids: ClosedRange<Int64>, limit: Int64) async throws -> [Int64] {
        try await store.read { [queue] connection in
            let sql = "SELECT id \(Connection.range)"
            return try connection.rows(sql, queue, ids.lowerBound, ids.upperBound, true, limit) { $0.integer(0) }
        }
    }

    /// Returns the number of jobs that are left to do, the first ones of these, and the largest ID of all; nil if there
    /// are no jobs.
    package func left(first limit: Int64) async throws -> (count: Int, first: [Job], last: Int64)? {
        try await store.read { [queue] connection in
            guard let last = try connection.integer("SELECT max(id) FROM queued") else { return nil }
            // The rows are read only for those that failed permanently.
            let count = """
                SELECT (SELECT count(*) FROM queued WHERE queue = ?1 AND state <> 'failed')
                    + (SELECT count(*) FROM queued WHERE queue = ?1 AND state = 'failed' AND ended IS NULL)
                """
            let first = try connection.jobs(in: queue, ids: 0...(.max), onlyLeft: true, limit: limit)
            return (Int(clamping: try connection.integer(count, queue) ?? 0), first.compactMap(\.job), last)
        }
    }

    /// Locks jobs, each of which is running as long as it is locked.
    ///
    /// - Parameters:
    ///   - ids: The jobs.
    ///   - again: Whether to lock those that are done or cancelled as well.
    ///   - looksForFiles: Whether to find out which delivered files are in place.
    /// - Returns: What became of each.
    /// - Throws: ``StoreError``
    package func claim(
        _ ids: [Int64], again: Bool = false, lookingForFiles looksForFiles: Bool = true
    ) async throws -> [Claim] {
        let locked = try StoreError.wrapping { try lock(ids) }
        do {
            // Read after they were locked, so that nobody else changes them.
            var jobs = try await store.read { [queue] connection in try connection.jobs(ids, in: queue) }
            if looksForFiles, jobs.values.contains(where: { $0.file != nil }) {
                jobs = try await Blocking.run { [jobs] in
                    jobs.mapValues { job in
                        var job = job
                        job.isInPlace = job.file?.isInPlace(at: job.destination) == true
                        return job
                    }
                }
            }
            return zip(ids, locked).map { id, isLocked in
                let job = jobs[id]
                guard isLocked else { return .busy(job) }
                let claim = Self.claim(job, again: again)
                if case .taken = claim {} else { release(id) }
                return claim
            }
        } catch {
            for (id, isLocked) in zip(ids, locked) where isLocked { release(id) }
            throw error
        }
    }

    /// Locks jobs; returns whether each is locked by the caller.
    private func lock(_ ids: [Int64]) throws -> [Bool] {
        // Most have IDs that follow one another, and nobody else runs them. No length would mean the whole file.
        let first = ids.first ?? 0
        let isRange = !ids.isEmpty && ids.enumerated().allSatisfy { first &+ Int64($0) == $1 }
        let areLocked = try isRange && jobs.tryLock(first, count: Int64(ids.count))
        return try ids.map { try areLocked || jobs.tryLock($0) }
    }

    private static func claim(_ job: Job?, again: Bool) -> Claim {
        guard let job else { return .gone(nil) }
        if job.state == .cancelled, !again { return .gone(job) }
        // If somebody has removed or changed the file, the job runs again.
        return !again && job.state == .done && job.isInPlace ? .done(job) : .taken(job)
    }

    /// Returns jobs of later commands with the same destination, and the job as it is now with its stored bytes.
    package func later(than job: Job) async throws -> (jobs: [Job], now: Job?) {
        try await store.read { [queue] connection in
            var now = try connection.job(job.id, in: queue)
            now?.receivedBytes = try connection.entry(named: job.key)?.receivedBytes ?? 0
            // A few are enough, and those that cannot be read are ignored.
            let sql = "SELECT \(Connection.jobColumns) FROM queued WHERE destination = ? AND list > ? AND queue = ?"
            return (try connection.rows(sql + " LIMIT 16", job.destination, job.list, queue, body: Connection.job), now)
        }
    }

    package func release(_ id: Int64) { jobs.unlock(id) }

    /// Whether a process runs a job.
    package func isRunning(_ id: Int64) -> Bool { (try? jobs.isLocked(id)) ?? true }

    /// Returns the URLs of unfinished jobs of earlier lists whose destinations jobs of this list have now.
    ///
    /// - Parameter ids: The IDs of the jobs of this list.
    /// - Returns: The destinations and the other URLs.
    /// - Throws: ``StoreError``
    package func rivals(of ids: ClosedRange<Int64>) async throws -> [(destination: String, url: String)] {
        try await store.read { [queue, list] in try $0.rivals(of: ids, in: list, of: queue) }
    }

    /// Records the state of jobs.
    ///
    /// - Parameters:
    ///   - ids: The jobs.
    ///   - state: The state.
    ///   - failure: Why the last run failed.
    ///   - isRun: Whether a run has ended.
    ///   - unchanged: A delivered file that was found unchanged.
    /// - Throws: ``StoreError``
    package func set(
        _ ids: [Int64], to state: Job.State, because failure: Reason? = nil, isRun: Bool = false,
        unchanged: DeliveryRecord? = nil
    ) async throws {
        try await store.write { [queue] connection in
            if let unchanged, let file = unchanged.file {
                try connection.renewDelivery(of: file, at: unchanged.path, from: unchanged.url, isNews: false)
            }
            let place = unchanged.map { ($0.path, $0.url) }
            for id in ids {
                try connection.setJob(id, in: queue, to: state, because: failure, isRun: isRun, unchanged: place)
            }
        }
    }

    /// Removes the rows of jobs.
    package func forget(_ ids: [Int64]) async throws {
        try await store.write { [queue] connection in
            for id in ids { try connection.removeQueued(id, from: queue) }
        }
    }

    /// Calls a closure with each job that can be read, in the order of their IDs.
    ///
    /// - Parameters:
    ///   - onlyLeft: Whether to leave out jobs that are done or cancelled, and the stored bytes of the others.
    ///   - body: The closure.
    /// - Throws: ``StoreError``; the error of the closure.
    package func forEach(onlyLeft: Bool = false, _ body: (Job) async throws -> Void) async throws {
        let limit: Int64 = 500
        var ids: ClosedRange<Int64> = 0...(.max)
        while true {
            let page = try await store.read { [queue, ids] connection in
                try connection.jobs(in: queue, ids: ids, onlyLeft: onlyLeft, limit: limit).map { id, job in
                    guard !onlyLeft, var job else { return (id: id, job: job) }
                    let entry = job.state == .done ? nil : try connection.entry(named: job.key)
                    job.receivedBytes = entry?.receivedBytes ?? job.file?.stamp.size ?? 0
                    job.totalBytes = entry?.totalBytes ?? job.file?.stamp.size
                    return (id: id, job: job)
                }
            }
            for case let job? in page.map(\.job) { try await body(job) }
            guard let last = page.last?.id, last < .max, Int64(page.count) == limit else { return }
            ids = last + 1...(.max)
        }
    }

    /// Removes jobs that were done long ago, and those beyond a number, in one of 32 runs, since it reads all jobs; and
    /// the oldest records of delivered files beyond a number.
    package func pruneSometimes() async throws {
        guard list % 32 == 0 else { return }
        try await store.write { connection in try connection.pruneDelivered() }
        let time = WallClock.milliseconds - Self.kept.age
        let limit: Int64 = 1000
        // The text of a file begins with the time. A job without one is of no use to a later run.
        let prune = """
            DELETE FROM queued WHERE id IN (
                SELECT id FROM queued AS job WHERE queue = ?1 AND ended = 'done'
                    AND (CAST(ifnull(file, 0) AS INTEGER) < ?2 OR id <= ifnull(
                        (SELECT id FROM queued WHERE queue = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?3), 0))
                    AND NOT EXISTS (SELECT 1 FROM queued WHERE queue = ?1 AND list = job.list AND state <> 'failed')
                ORDER BY id LIMIT ?4)
            """
        // Others write in between.
        while try await store.write({ [queue] in try $0.run(prune, queue, time, Self.kept.most, limit) }) == limit {}
    }
}
