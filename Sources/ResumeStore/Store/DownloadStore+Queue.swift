internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// A request of a queue as the store keeps it: without secrets.
package struct QueuedRequest: Sendable, Hashable {
    /// What became of it so far.
    package enum State: String, Sendable, Hashable {
        case waiting, running, paused
        /// It failed for good, and does not run by itself any more.
        case failed
    }

    /// The row's number: never used twice; nil before there is a row.
    package var id: Int64?
    /// What names the download in the store.
    package var key: String
    /// The URL without user info and signature.
    package var url: String
    /// The file that it becomes, as an absolute path.
    package var destination: String
    package var state: State
    package var priority: Int64
    package var isForced: Bool
    /// Of two with the same priority the one with the higher position runs first.
    package var position: Int64
    /// What else was asked for, in the queue's own words; nil where that is not all.
    package var terms: String?
    /// Why it failed for good; nil in every other state.
    package var failure: Reason?
    /// How many bytes the store holds of it; read only.
    package var receivedBytes: Int64 = 0
    /// How many it has, where that is known; read only.
    package var totalBytes: Int64?

    package init(
        id: Int64? = nil, key: String, url: String, destination: String, state: State, priority: Int64, isForced: Bool,
        position: Int64, terms: String?, failure: Reason? = nil
    ) {
        self.id = id
        self.key = key
        self.url = url
        self.destination = destination
        self.state = state
        self.priority = priority
        self.isForced = isForced
        self.position = position
        self.terms = terms
        self.failure = failure
    }
}

/// The right to work with the queue of a name: a kernel lock, dropped when this goes away or its process ends.
package final class QueueLease: Sendable {
    let id: Int64
    private let locks: ByteLocks

    fileprivate init(id: Int64, locks: ByteLocks) {
        self.id = id
        self.locks = locks
    }

    /// Lets the next one have the queue.
    package func release() { locks.unlock(id) }
}

/// A sign that somebody waits for a download: whoever delivers it leaves the whole in the store, for a copy.
///
/// It ends when this goes away.
package final class WaitingSign: Sendable {
    private let waiters: ByteLocks

    fileprivate init(_ numbers: [Int64], in folder: StoreFolder) throws {
        waiters = try folder.locks(.waiters)
        // Shared with others who wait; nobody takes them alone.
        for number in numbers { _ = try waiters.tryLock(number, exclusively: false) }
    }
}

extension DownloadStore {
    /// Takes the queue of a name.
    ///
    /// - Throws: ``StoreError`` with `inUse` where another queue of that name is open, in this process or another.
    package func leaseQueue(named name: String) async throws -> QueueLease {
        let id = try await writeEntry { connection in try connection.queue(named: name) }
        do {
            let locks = try folder.locks(.queues)
            guard try locks.tryLock(id) else {
                throw StoreError(
                    .inUse, "the queue \(Printable.escaped(name)) is already open in this or another process",
                    advice: "Use that queue, or choose another name.")
            }
            return QueueLease(id: id, locks: locks)
        } catch {
            throw StoreError(wrapping: error)
        }
    }

    /// What a queue has still to deliver, what runs first coming first, each with what is held of it.
    package func queued(in queue: QueueLease) async throws -> [QueuedRequest] {
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

    /// Adds and changes requests of a queue and takes others away, all or none.
    ///
    /// - Returns: The numbers of the rows, in the order of the requests.
    package func record(
        _ requests: [QueuedRequest], removing ids: some Sequence<Int64> & Sendable, in queue: QueueLease
    ) async throws -> [Int64] {
        try await writeEntry { connection in
            for id in ids { try connection.removeQueued(id, from: queue.id) }
            return try requests.map { try connection.setQueued($0, in: queue.id) }
        }
    }

    /// How many bytes the collector removed of the downloads of a queue since they last ran, by key.
    ///
    /// To its end also where the task is cancelled: a report must not say that they are there.
    package func evictedBytes(in queue: QueueLease) async throws -> [String: Int64] {
        try await readToEnd { connection in try connection.evictedBytes(in: queue.id) }
    }

    /// How many bytes the collector removed of a download since it last ran; from now on none.
    package func takeEvictedBytes(of key: String, in queue: QueueLease) async throws -> Int64 {
        // Most have lost nothing, and need no commit.
        guard let bytes = try await evictedBytes(in: queue, key: key), bytes > 0 else { return 0 }
        try await write { connection in try connection.forgetEviction(of: key, in: queue.id) }
        return bytes
    }

    private func evictedBytes(in queue: QueueLease, key: String) async throws -> Int64? {
        try await read { connection in try connection.evictedBytes(in: queue.id, key: key)[key] }
    }

    /// How many bytes the collector removed of a download, where that is the last thing that happened to it.
    package func evictedBytes(key name: String) async throws -> Int64? {
        let last = try await read { connection in
            try (1...Variant.most).compactMap { try connection.lastEvent(key: Variant.key(name, $0)) }
        }.max { $0.at < $1.at }
        return last.flatMap { $0.kind == .evicted ? $0.bytes : nil }
    }

    /// Says that somebody waits for a download whom a copy is to be left for.
    package func announceWaiting(
        for url: DownloadURL, key: String?, selection: RangeSelection?
    ) async throws -> WaitingSign {
        let name = Self.key(of: url, named: key, selection: selection)
        let id = try await read { connection in
            // Whoever works on it has used it last.
            try connection.id(ofKey: Variant.key(name, try connection.variants(of: name).first?.number ?? 1))
        }
        do {
            return try WaitingSign([Lease.number(of: name, in: self)] + [id].compactMap(\.self), in: folder)
        } catch {
            throw StoreError(wrapping: error)
        }
    }
}

extension DownloadStore {
    /// Gives back the memory that SQLite can do without.
    package func releaseMemory() async {
        // It is a wish; the pages are read again when they are needed.
        try? await database.withConnection { connection in try connection.execute("PRAGMA shrink_memory") }
    }
}
