import ResumeFiles
import ResumeHTTP
import Synchronization

/// A kernel lock on the byte with an entry's ID as its offset, released with this object or when its process ends.
package final class Lease: Sendable {
    let id: Int64
    private let table: Table
    private let waiters: Table

    private init?(_ id: Int64, of table: Table, exclusively: Bool, _ waiters: Table) throws {
        guard try table.take(id, exclusively: exclusively) else { return nil }
        self.id = id
        self.table = table
        self.waiters = waiters
    }

    deinit { table.giveBack(id) }

    /// Takes the exclusive right to use an entry if it is available; otherwise nil.
    static func take(_ id: Int64, in folder: StoreFolder) throws -> Lease? {
        try Lease(id, of: folder.leases, exclusively: true, folder.waiters)
    }

    /// Indicates that a task uses an entry, or paused it and intends to continue: the collector removes such entries
    /// last.
    static func pausing(_ id: Int64, in folder: StoreFolder) throws -> Lease? {
        try Lease(id, of: folder.paused, exclusively: false, folder.waiters)
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
    static func number(of key: String, _ identityKey: HashKey) -> Int64 {
        let hash = identityKey.code(Array(key.utf8)).prefix(8).reduce(0 as UInt64) {
            $0 << 8 | UInt64($1)
        }
        return 1 << 61 | Int64(hash >> 3)
    }

    /// Whether a task waits for this lease.
    ///
    /// If it is unknown, the blob is kept, which only needs disk space.
    var isAwaited: Bool { (try? waiters.isLocked(id)) ?? true }

    /// The locks of one open store in a lock file, which is opened with the first one.
    ///
    /// They share a descriptor, whose locks do not exclude each other, so the holders are also counted here.
    final class Table: Sendable {
        private struct State {
            var locks: ByteLocks?
            var holders: [Int64: Int] = [:]
        }

        private let open: @Sendable () throws -> ByteLocks
        private let state = Mutex(State())

        init(_ file: StoreFolder.LockFile, in root: Folder) {
            open = { try ByteLocks(file.rawValue, in: root, flags: O_RDWR | O_CREAT) }
        }

        private func with<Result>(_ body: (ByteLocks, inout [Int64: Int]) throws -> Result) throws -> Result {
            try state.withLock { state in
                let locks = try state.locks ?? open()
                state.locks = locks
                return try body(locks, &state.holders)
            }
        }

        fileprivate func take(_ id: Int64, exclusively: Bool) throws -> Bool {
            try with { locks, holders in
                let count = holders[id] ?? 0
                guard try count == 0 ? locks.tryLock(id, exclusively: exclusively) : !exclusively else {
                    return false
                }
                holders[id] = count + 1
                return true
            }
        }

        fileprivate func giveBack(_ id: Int64) {
            // In a forked child the locks belong to the parent.
            guard !ForkedChild.isCurrent else { return }
            try? with { locks, holders in
                guard let count = holders[id] else { return }
                holders[id] = count > 1 ? count - 1 : nil
                if count == 1 { locks.unlock(id) }
            }
        }

        /// Returns whether others have locked a byte.
        fileprivate func isLocked(_ id: Int64) throws -> Bool { try with { locks, _ in try locks.isLocked(id) } }
    }
}

/// A key of which the store holds nothing, locked for one download.
package struct FreeKey: Sendable {
    let name: String
    let lease: Lease
}
