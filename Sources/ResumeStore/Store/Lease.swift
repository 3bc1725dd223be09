internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite
internal import Synchronization

/// The right to work on one entry: a kernel lock on the byte of the entry's number, dropped when this goes away or
/// its process ends.
final class Lease: Sendable {
    let id: Int64
    private let leases: LeaseTable

    private init(id: Int64, leases: LeaseTable) {
        self.id = id
        self.leases = leases
    }

    deinit {
        leases.giveBack(id)
    }

    /// Takes the lease of an entry if nobody has it.
    static func take(_ id: Int64, in folder: StoreFolder) throws -> Lease? {
        guard try folder.leases.take(id, in: folder) else { return nil }
        return Lease(id: id, leases: folder.leases)
    }

    /// Waits until the lease can be had, however long its holder works; looks often enough to take over at once
    /// when the holder dies.
    ///
    /// While it waits, the holder can see that somebody does, and leaves a finished blob for him.
    ///
    /// - Throws: `CancellationError` where the task is cancelled.
    static func wait(for id: Int64, in folder: StoreFolder) async throws -> Lease {
        let sign = try folder.locks(.waiters)
        // Shared with other waiters; nobody takes it alone, so it is had at once.
        _ = try sign.tryLock(id, exclusively: false)
        defer { sign.unlock(id) }
        var pause = Duration.milliseconds(1)
        while true {
            if let lease = try take(id, in: folder) { return lease }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(10))
        }
    }

    /// Stands for a key of which there is no row yet, beside the numbers of rows.
    ///
    /// Two keys with the same number would wait for each other. The store's secret key keeps anyone from choosing such URLs.
    static func number(of key: String, in store: DownloadStore) -> Int64 {
        let hash = RequestIdentity.code(store.identityKey, Array(key.utf8)).prefix(8).reduce(0 as UInt64) {
            $0 << 8 | UInt64($1)
        }
        return 1 << 61 | Int64(hash >> 3)
    }

    /// Whether somebody waits for this lease.
    var isAwaited: Bool { leases.isAwaited(id) }
}

/// The leases that were taken through one opening of a store.
///
/// They share a descriptor, whose locks do not exclude one another; so it is remembered which of them are held.
final class LeaseTable: Sendable {
    private struct State {
        var held: Set<Int64> = []
        var files: Files?
    }

    private struct Files {
        let leases: ByteLocks
        /// Looked into, never locked: those who wait have descriptors of their own.
        let waiters: ByteLocks
    }

    private let state = Mutex(State())

    fileprivate func take(_ id: Int64, in folder: StoreFolder) throws -> Bool {
        let files = try state.withLock { state -> Files? in
            guard !state.held.contains(id) else { return nil }
            let files = try state.files ?? Files(leases: folder.locks(.leases), waiters: folder.locks(.waiters))
            state.files = files
            state.held.insert(id)
            return files
        }
        guard let files else { return false }
        do {
            if try files.leases.tryLock(id) { return true }
        } catch {
            forget(id)
            throw error
        }
        forget(id)
        return false
    }

    private func forget(_ id: Int64) {
        state.withLock { _ = $0.held.remove(id) }
    }

    fileprivate func giveBack(_ id: Int64) {
        // In a forked child the locks are the parent's.
        guard !ForkedChild.isCurrent else { return }
        state.withLock { $0.files }?.leases.unlock(id)
        forget(id)
    }

    fileprivate func isAwaited(_ id: Int64) -> Bool {
        // Where it cannot be found out, the blob stays: it costs space, not bytes.
        (try? state.withLock { $0.files }?.waiters.isLocked(id)) ?? true
    }
}
