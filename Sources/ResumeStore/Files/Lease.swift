internal import ResumeFiles
internal import ResumeHTTP
internal import Synchronization

/// The exclusive right to use an entry: a kernel lock on the byte with the entry's ID as its offset, released with this
/// object or when its process ends.
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

    /// Takes the lease of an entry if it is available; otherwise nil.
    static func take(_ id: Int64, in folder: StoreFolder) throws -> Lease? {
        guard try folder.leases.take(id, in: folder) else { return nil }
        return Lease(id: id, leases: folder.leases)
    }

    /// Waits until the lease is available, without a timeout; it polls often enough to continue soon after the holder
    /// crashed.
    ///
    /// While it waits, the holder of the lease can detect that, and keeps a finished blob for it.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    static func wait(for id: Int64, in folder: StoreFolder) async throws -> Lease {
        let sign = try folder.locks(.waiters)
        // Shared with other waiting tasks and never locked exclusively, so it does not block.
        _ = try sign.tryLock(id, exclusively: false)
        defer { sign.unlock(id) }
        var pause = Duration.milliseconds(1)
        while true {
            if let lease = try take(id, in: folder) { return lease }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(10))
        }
    }

    /// Returns a number for a key without a row, which is different from all row IDs.
    ///
    /// Two keys with the same number would wait for each other. URLs with the same number cannot be constructed without
    /// the store's secret key.
    static func number(of key: String, _ identityKey: [UInt8]) -> Int64 {
        let hash = RequestIdentity.code(identityKey, Array(key.utf8)).prefix(8).reduce(0 as UInt64) {
            $0 << 8 | UInt64($1)
        }
        return 1 << 61 | Int64(hash >> 3)
    }

    /// Whether a task waits for this lease.
    var isAwaited: Bool { leases.isAwaited(id) }
}

/// The leases of one open store.
///
/// They share a descriptor, whose locks do not exclude each other, so the held ones are also recorded here.
final class LeaseTable: Sendable {
    private struct State {
        var held: Set<Int64> = []
        var files: Files?
    }

    private struct Files {
        let leases: ByteLocks
        /// Only queried, never locked, since waiting tasks use separate descriptors.
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
        // In a forked child the locks belong to the parent.
        guard !ForkedChild.isCurrent else { return }
        state.withLock { $0.files }?.leases.unlock(id)
        forget(id)
    }

    fileprivate func isAwaited(_ id: Int64) -> Bool {
        // If it is unknown, the blob is kept, which only needs disk space.
        (try? state.withLock { $0.files }?.waiters.isLocked(id)) ?? true
    }
}
