internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// The jobs of the command line in a store, which several processes may work on.
///
/// They are the rows of a queue. Each job is locked by the process that runs it: the kernel lock ends with the process,
/// so a row that says 'running' without a lock waits to be continued.
package final class JobBoard: Sendable {
    /// The name of the queue of the command line.
    package static let queueName = "resumectl"
    /// How many finished jobs are kept, and for how long in milliseconds.
    private static let kept = (most: 100_000 as Int64, age: 30 * 86_400_000 as Int64)

    private let store: DownloadStore
    private let queue: Int64
    private let queues: ByteLocks
    private let jobs: ByteLocks
    /// The number of this run.
    package let list: Int64

    fileprivate init(store: DownloadStore, queue: Int64, queues: ByteLocks, jobs: ByteLocks) {
        self.store = store
        self.queue = queue
        self.queues = queues
        self.jobs = jobs
        // Larger than those of earlier runs, so that it is not 0; different from those of others at the same time.
        list = WallClock.milliseconds &* 1000 &+ Int64.random(in: 1..<1000)
    }

    /// Returns the lists that have something left to do.
    package func unfinishedLists() async throws -> Set<Int64> {
        try await store.read { [queue] connection in try connection.unfinishedLists(in: queue) }
    }

    /// Records jobs in one transaction that survives a power loss.
    ///
    /// - Parameters:
    ///   - new: The jobs.
    ///   - unfinished: What ``unfinishedLists()`` returned before the first job of this list was recorded.
    /// - Returns: The recorded jobs, in the same order.
    /// - Throws: ``StoreError``
    package func enlist(_ new: [NewJob], unfinished: Set<Int64>) async throws -> [EnlistedJob] {
        let (queue, list, key) = (queue, list, store.identityKey)
        return try await store.writeEntry(durability: .power) { connection in
            try new.map { try connection.enlist($0, in: queue, as: list, unfinished: unfinished, key) }
        }
    }

    /// Locks jobs and marks them as running.
    ///
    /// - Parameters:
    ///   - ids: The jobs.
    ///   - again: Those that run although they are done or cancelled.
    /// - Returns: What became of each.
    /// - Throws: ``StoreError``
    package func claim(_ ids: [Int64], again: Set<Int64> = []) async throws -> [Claim] {
        let locked = try ids.map { id in try StoreError.wrapping { try jobs.tryLock(id) } }
        let queue = queue
        do {
            return try await store.write { connection in
                try zip(ids, locked).map { id, isLocked in
                    guard isLocked else { return .busy }
                    return try connection.beginJob(id, in: queue, again: again.contains(id)) ? .taken : .over
                }
            }
        } catch {
            for (id, isLocked) in zip(ids, locked) where isLocked { release(id) }
            throw error
        }
    }

    /// What became of the attempt to take a job.
    package enum Claim: Sendable, Hashable {
        /// It is locked by the caller.
        case taken
        /// Another process runs it.
        case busy
        /// It is done, cancelled or forgotten; it is locked by the caller.
        case over
    }

    /// Unlocks a job.
    package func release(_ id: Int64) { jobs.unlock(id) }

    /// Whether a process runs a job.
    package func isRunning(_ id: Int64) -> Bool { (try? jobs.isLocked(id)) ?? true }

    /// Records the state of a job.
    package func set(_ id: Int64, to state: Job.State, because failure: Reason? = nil) async throws {
        try await store.write { [queue] connection in
            try connection.setJob(id, in: queue, to: state, because: failure)
        }
    }

    /// Removes the rows of jobs.
    package func forget(_ ids: [Int64]) async throws {
        try await store.write { [queue] connection in
            for id in ids { try connection.removeQueued(id, from: queue) }
        }
    }

    package func job(_ id: Int64) async throws -> Job? {
        try await store.read { [queue] connection in try connection.job(id, in: queue) }
    }

    /// Returns the jobs after an ID that can be read, with their stored bytes, and the ID to continue with; nil at the
    /// end.
    package func jobs(after id: Int64, limit: Int64 = 500) async throws -> (jobs: [Job], next: Int64?) {
        try await store.read { [queue] connection in
            let found = try connection.jobs(in: queue, after: id, limit: limit)
            let jobs = try found.compactMap { $0 }.map { job in
                var job = job
                let entry = job.state == .done ? nil : try connection.entry(named: job.key)
                job.receivedBytes = entry?.receivedBytes ?? job.file?.size ?? 0
                job.totalBytes = entry?.totalBytes ?? job.file?.size
                return job
            }
            // If rows of a whole page cannot be read, those after it are not found.
            return (jobs, Int64(found.count) < limit ? nil : jobs.last?.id)
        }
    }

    /// Removes jobs that were done long ago, and those beyond a number.
    package func prune() async throws {
        let time = WallClock.milliseconds - Self.kept.age
        try await store.write { [queue] connection in
            try connection.pruneJobs(in: queue, doneBefore: time, most: Self.kept.most)
        }
    }
}

extension DownloadStore {
    /// Opens the jobs of the command line.
    ///
    /// - Throws: ``StoreError``; `inUse` if a program has opened a queue of this name.
    package func openJobs() async throws -> JobBoard {
        let known = try await read { connection in try connection.queues().first { $0.name == JobBoard.queueName }?.id }
        let id: Int64
        if let known {
            id = known
        } else {
            id = try await writeEntry { connection in try connection.queue(named: JobBoard.queueName) }
        }
        let queues = try lockFile(.queues)
        guard try StoreError.wrapping({ try queues.tryLock(id, exclusively: false) }) else {
            throw StoreError(
                .inUse, "a program has opened the queue \(JobBoard.queueName) of this store",
                advice: "Choose another store, or another name for that queue.")
        }
        return JobBoard(store: self, queue: id, queues: queues, jobs: try lockFile(.jobs))
    }
}

extension DeliveredFile {
    /// Whether a file still has the size and time that it was delivered with.
    package func isInPlace(at path: String) -> Bool {
        guard let status = try? Destination(path).status else { return false }
        return status.kind == .regular && status.size == size && status.modifiedAt == modifiedAt
    }
}
