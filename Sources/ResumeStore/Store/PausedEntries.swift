internal import ResumeFiles
internal import ResumeSQLite
internal import Synchronization

/// The entries that tasks of a store have paused.
///
/// Each has a shared kernel lock on the byte with its ID as the offset, so that the collectors of all processes know
/// it; the lock is released when the process ends.
final class PausedEntries: Sendable {
    private struct State {
        /// The shared descriptor, opened with the first entry.
        var locks: ByteLocks?
        /// The number of tasks per entry.
        var counts: [Int64: Int] = [:]
    }

    private let state = Mutex(State())

    fileprivate func add(_ id: Int64, in folder: StoreFolder) throws {
        try state.withLock { state in
            let locks = try state.locks ?? folder.locks(.paused)
            state.locks = locks
            // Never locked exclusively.
            if state.counts[id] == nil { _ = try locks.tryLock(id, exclusively: false) }
            state.counts[id, default: 0] += 1
        }
    }

    fileprivate func remove(_ id: Int64) {
        state.withLock { state in
            guard let count = state.counts[id] else { return }
            state.counts[id] = count > 1 ? count - 1 : nil
            // In a forked child the lock belongs to the parent.
            if count == 1, !ForkedChild.isCurrent { state.locks?.unlock(id) }
        }
    }
}

/// Indicates that a task uses an entry, or paused it and intends to continue: the collector removes such entries last.
///
/// It ends when it is released.
package final class PausedSign: Sendable {
    private let id: Int64
    private let entries: PausedEntries

    init(_ id: Int64, among entries: PausedEntries, in folder: StoreFolder) throws {
        try entries.add(id, in: folder)
        self.id = id
        self.entries = entries
    }

    deinit { entries.remove(id) }
}
