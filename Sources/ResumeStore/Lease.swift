internal import ResumeSQLite

/// The right to work on one entry: a kernel lock on the byte of the entry's number, dropped when this goes away or
/// its process ends.
final class Lease: Sendable {
    let id: Int64
    private let locks: ByteLocks
    private let waiters: ByteLocks

    private init(id: Int64, locks: ByteLocks, waiters: ByteLocks) {
        self.id = id
        self.locks = locks
        self.waiters = waiters
    }

    /// Takes the lease of an entry if nobody has it.
    static func take(_ id: Int64, in folder: StoreFolder) throws -> Lease? {
        let locks = try folder.locks(.leases)
        guard try locks.tryLock(id) else { return nil }
        return Lease(id: id, locks: locks, waiters: try folder.locks(.waiters))
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
    /// Two keys may have the same number: then one of them waits for the other.
    static func number(of key: String) -> Int64 {
        // FNV-1a.
        let hash = key.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return 1 << 61 | Int64(hash >> 3)
    }

    /// Whether somebody waits for this lease.
    var isAwaited: Bool {
        // Where it cannot be found out, the blob stays: it costs space, not bytes.
        (try? waiters.isLocked(id)) ?? true
    }
}
