package import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Indicates that a task waits for a download: after its delivery, the complete data is kept in the store for a copy.
///
/// It ends when it is released.
package typealias WaitingSign = ByteLocks

/// The queue of a program.
extension JobTable {
    /// Returns the undelivered requests of a queue in the order in which they run, with the numbers of their stored
    /// bytes.
    package func queued() async throws -> [Job] {
        try await store.read { [queue] connection in
            try connection.queued(in: queue).map { request in
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
    package func record(_ requests: [Job], removing ids: some Sequence<Int64> & Sendable) async throws -> [Int64] {
        try await store.write { [queue] connection in
            for id in ids { try connection.removeQueued(id, from: queue) }
            return try requests.map { try connection.setQueued($0, in: queue) }
        }
    }

    /// Returns the number of bytes that the collector removed since the downloads of a queue last ran, by key.
    ///
    /// It completes even if the task is cancelled, since otherwise a report would say that the bytes are still stored.
    package func evictedBytes() async throws -> [String: Int64] {
        try await store.readToEnd { [queue] connection in
            let sql = "SELECT key, evicted FROM queued WHERE queue = ? AND evicted > 0"
            let found = try connection.rows(sql, queue) { row in
                row.text(0).flatMap { key in row.integer(1).map { (key, $0) } }
            }
            return Dictionary(found, uniquingKeysWith: max)
        }
    }

    /// Returns the number of bytes that the collector removed since a download last ran, and clears it.
    package func takeEvictedBytes(of key: String) async throws -> Int64 {
        // Most downloads have lost nothing, and need no commit.
        let bytes = try await store.read { [queue] connection in
            try connection.integer("SELECT max(evicted) FROM queued WHERE queue = ? AND key = ?", queue, key)
        }
        guard let bytes, bytes > 0 else { return 0 }
        _ = try await store.write { [queue] connection in
            try connection.run("UPDATE queued SET evicted = 0 WHERE queue = ? AND key = ?", queue, key)
        }
        return bytes
    }
}

extension DownloadStore {
    /// Records that the requested restart of some jobs has begun, so that the next run continues it.
    package func recordRestart(of rows: [JobTable.QueuedRow]) async throws {
        // The terms are JSON; a quotation mark in one of their texts has a backslash before it.
        let terms = """
            replace(replace(replace(terms, '"restarts":true,', ''), ',"restarts":true', ''), '"restarts":true', '')
            """
        try await write { connection in
            for row in rows { try connection.run("UPDATE queued SET terms = \(terms) WHERE id = ?", row.id) }
        }
    }

    /// Opens the table of a queue, by default that of the command line.
    ///
    /// - Parameters:
    ///   - name: The name of the queue, which is made if it does not exist.
    ///   - isShared: Whether others may work on its jobs at the same time.
    /// - Returns: The table.
    /// - Throws: ``StoreError``; `inUse` if the queue is open, and one of the two does not share it.
    package func jobTable(named name: String = JobTable.queueName, isShared: Bool = true) async throws -> JobTable {
        let (known, last) = try await read { connection in
            let known = try connection.integer("SELECT id FROM queue WHERE name = ?", name)
            // The largest one with jobs that a new one may replace. Two steps of indices: of what is left to do, and the
            // newest row, which may have failed permanently.
            let last = """
                SELECT max(list) FROM (SELECT max(list) AS list FROM queued WHERE queue = ?1 AND state <> 'failed'
                    UNION ALL SELECT list FROM queued WHERE id = (SELECT max(id) FROM queued))
                """
            return (known, try known.flatMap { try connection.integer(last, $0) })
        }
        let id = if let known { known } else { try await write { try $0.queue(named: name) } }
        let queues = try lockFile(.queues)
        guard try StoreError.wrapping({ try queues.tryLock(id, exclusively: !isShared) }) else {
            throw StoreError(.inUse, Reason("queue-open", with: Printable.escaped(name)))
        }
        return JobTable(store: self, queue: id, after: last ?? 0, queues: queues, jobs: try lockFile(.jobs))
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
        let name = DownloadName.of(url, named: key, selection: selection)
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

    /// Releases memory that SQLite does not need.
    package func releaseMemory() async {
        // Errors are ignored, since this only frees memory; pages are read again if needed.
        try? await database.withConnection { connection in try connection.execute("PRAGMA shrink_memory") }
    }
}
