internal import ResumeFiles
internal import ResumeSQLite
internal import Synchronization

/// The entries that tasks of one store have paused, each with a shared lock on the byte of its number: the collector of
/// any process sees that, and the kernel drops it with the process.
final class PausedEntries: Sendable {
    private struct State {
        /// One descriptor for all of them, opened with the first.
        var locks: ByteLocks?
        /// How many tasks have an entry.
        var counts: [Int64: Int] = [:]
    }

    private let state = Mutex(State())

    fileprivate func add(_ id: Int64, in folder: StoreFolder) throws {
        try state.withLock { state in
            let locks = try state.locks ?? folder.locks(.paused)
            state.locks = locks
            // Nobody takes it alone.
            if state.counts[id] == nil { _ = try locks.tryLock(id, exclusively: false) }
            state.counts[id, default: 0] += 1
        }
    }

    fileprivate func remove(_ id: Int64) {
        state.withLock { state in
            guard let count = state.counts[id] else { return }
            state.counts[id] = count > 1 ? count - 1 : nil
            // In a forked child the lock is the parent's.
            if count == 1, !ForkedChild.isCurrent { state.locks?.unlock(id) }
        }
    }
}

/// A sign that a task works on an entry, or has paused and means to go on: the collector takes the entry last.
///
/// It ends when this goes away.
package final class PausedSign: Sendable {
    private let id: Int64
    private let entries: PausedEntries

    fileprivate init(_ id: Int64, among entries: PausedEntries, in folder: StoreFolder) throws {
        try entries.add(id, in: folder)
        self.id = id
        self.entries = entries
    }

    deinit { entries.remove(id) }
}

extension Transfer {
    /// Says that the entry is to be kept for who goes on with it, also when this transfer has ended.
    ///
    /// - Returns: The sign; nil where there can be none: then it is evicted like any other.
    package var pausedSign: PausedSign? {
        try? PausedSign(entry.id, among: store.pausedEntries, in: store.folder)
    }
}
