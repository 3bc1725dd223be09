package import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// The exclusive right to use a queue: a kernel lock, released with this object or when its process ends.
package final class QueueLease: Sendable {
    let id: Int64
    private let locks: ByteLocks

    fileprivate init(id: Int64, locks: ByteLocks) {
        self.id = id
        self.locks = locks
    }

    /// Releases the queue.
    package func release() { locks.unlock(id) }
}

/// Indicates that a task waits for a download: after its delivery, the complete data is kept in the store for a copy.
///
/// It ends when it is released.
package typealias WaitingSign = ByteLocks

extension DownloadStore {
    /// Locks the queue with a name.
    ///
    /// - Throws: ``StoreError`` with `inUse` if a queue of that name is open in this process or another one.
    package func leaseQueue(named name: String) async throws -> QueueLease {
        let id = try await writeEntry { connection in try connection.queue(named: name) }
        let locks = try lockFile(.queues)
        guard try StoreError.wrapping({ try locks.tryLock(id) }) else {
            throw StoreError(
                .inUse, "the queue \(Printable.escaped(name)) is already open in this or another process",
                advice: "Use that queue, or choose another name.")
        }
        return QueueLease(id: id, locks: locks)
    }

    /// Returns the undelivered requests of a queue in the order in which they run, with the numbers of their stored
    /// bytes.
    package func queued(in queue: QueueLease) async throws -> [Job] {
        try await read { connection in
            try connection.queued(in: queue.id).map { request in
                var request = request
                let entry = try connection.entry(named: request.key)
                request.receivedBytes = entry?.receivedBytes ?? 0
                request.totalBytes = entry?.totalBytes
                return request
            }
        }
    }

    /// Adds, changes and removes requests of a queue in one transaction.
    ///
    /// - Returns: The row IDs, in the order of the requests.
    package func record(
        _ requests: [Job], removing ids: some Sequence<Int64> & Sendable, in queue: QueueLease
    ) async throws -> [Int64] {
        try await writeEntry { connection in
            for id in ids { try connection.removeQueued(id, from: queue.id) }
            return try requests.map { try connection.setQueued($0, in: queue.id) }
        }
    }

    /// Returns the number of bytes that the collector removed since the downloads of a queue last ran, by key.
    ///
    /// It completes even if the task is cancelled, since otherwise a report would say that the bytes are still stored.
    package func evictedBytes(in queue: QueueLease) async throws -> [String: Int64] {
        try await readToEnd { connection in try connection.evictedBytes(in: queue.id) }
    }

    /// Returns the number of bytes that the collector removed since a download last ran, and clears it.
    package func takeEvictedBytes(of key: String, in queue: QueueLease) async throws -> Int64 {
        // Most downloads have lost nothing, and need no commit.
        let bytes = try await read { connection in
            try connection.integer("SELECT max(evicted) FROM queued WHERE queue = ? AND key = ?", queue.id, key)
        }
        guard let bytes, bytes > 0 else { return 0 }
        try await write { connection in try connection.forgetEviction(of: key, in: queue.id) }
        return bytes
    }

    /// Returns the number of bytes that the collector removed of a download, if that was the last event of the
    /// download.
    package func evictedBytes(key name: String) async throws -> Int64? {
        let last = try await read { connection in
            try (1...Variant.most).compactMap { try connection.lastEvent(key: Variant.key(name, $0)) }
        }.max { $0.at < $1.at }
        return last.flatMap { $0.kind == .evicted ? $0.bytes : nil }
    }

    /// Indicates that a task waits for a copy of a download.
    package func announceWaiting(
        for url: DownloadURL, key: String?, selection: RangeSelection?
    ) async throws -> WaitingSign {
        let name = Self.key(of: url, named: key, selection: selection)
        let id = try await read { connection in
            // The variant in use is the last used one.
            try connection.id(ofKey: Variant.key(name, try connection.variants(of: name).first?.number ?? 1))
        }
        let waiters = try lockFile(.waiters)
        try StoreError.wrapping {
            // Shared locks, which nothing locks exclusively.
            _ = try waiters.tryLock(Lease.number(of: name, identityKey), exclusively: false)
            if let id { _ = try waiters.tryLock(id, exclusively: false) }
        }
        return waiters
    }
}

extension DownloadStore {
    /// Releases memory that SQLite does not need.
    package func releaseMemory() async {
        // Errors are ignored, since this only frees memory; pages are read again if needed.
        try? await database.withConnection { connection in try connection.execute("PRAGMA shrink_memory") }
    }
}
