internal import ResumeSQLite
internal import Synchronization

/// Records how much was written, on the thread that wrote it: a commit takes less time than waking another thread does.
///
/// The bound it keeps: the death of the process costs at most 1 MiB, or what came in 250 ms.
final class ProgressRecorder: Sendable {
    /// What is recorded.
    struct Subject {
        let id: Int64
        let generation: Int64
    }

    fileprivate struct State {
        var subject: Subject
        /// Bytes from 0 on that a commit has recorded.
        var committed: Int64
        /// Bytes from 0 on that were written, as far as was told.
        var held: Int64
        var lastCommit = ContinuousClock.now
        /// Looks again from time to time, since nobody may call when nothing comes any more.
        var later: Task<Void, any Error>?
    }

    /// A commit is due when so many bytes are not recorded; one buffer of 256 KiB may have come on top.
    fileprivate static let unrecordedLimit: Int64 = 768 << 10
    /// How often it is looked whether what waits is due by now.
    private static let lookInterval: Duration = .milliseconds(20)

    private let store: DownloadStore
    /// Locked during a commit.
    private let state: Mutex<State>

    init(store: DownloadStore, subject: Subject, committed: Int64) {
        self.store = store
        state = Mutex(State(subject: subject, committed: committed, held: committed))
    }

    /// Begins with a new blob, of which nothing is held.
    func reset(to subject: Subject) {
        state.withLock { $0 = State(subject: subject, committed: 0, held: 0) }
    }

    /// Records what is held where that is due; blocks meanwhile.
    ///
    /// - Parameters:
    ///   - held: Bytes from 0 on that were written.
    ///   - later: Called when it becomes due and nothing has come since.
    /// - Returns: Whether it was due.
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    func advance(to held: Int64, later: @escaping @Sendable () async throws -> Void) throws -> Bool {
        try state.withLock { state in
            guard held > state.committed else { return false }
            state.held = held
            if state.isDue {
                try commit(held, &state)
                return true
            }
            if state.later == nil { state.later = Task { try await look(later) } }
            return false
        }
    }

    /// Records what is held; blocks meanwhile.
    ///
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    func record(_ held: Int64) throws {
        try state.withLock { state in
            state.later.take()?.cancel()
            if held > state.committed { try commit(held, &state) }
        }
    }

    private func look(_ later: @Sendable () async throws -> Void) async throws {
        var isDue = false
        repeat {
            try await Task.sleep(for: Self.lookInterval)
            isDue = state.withLock { state in
                let isOver = state.held <= state.committed || state.isDue
                if isOver { state.later = nil }
                return isOver
            }
        } while !isDue
        try await later()
    }

    private func commit(_ held: Int64, _ state: inout State) throws {
        KillPoint.reached(.bytesWritten)
        let subject = state.subject
        state.lastCommit = .now
        let isCurrent = try store.writeNow { connection in
            try connection.checkpoint(id: subject.id, generation: subject.generation, received: held, durable: 0)
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.checkpointCommitted)
        state.committed = held
    }
}

extension ProgressRecorder.State {
    fileprivate var isDue: Bool {
        let unrecorded = held - committed
        if unrecorded >= ProgressRecorder.unrecordedLimit { return true }
        let elapsed = ContinuousClock.now - lastCommit
        // Early where it is cheap beside the transfer, so that less is fetched twice; late at the promised bound.
        return elapsed >= .milliseconds(200) || (unrecorded >= 128 << 10 && elapsed >= .milliseconds(10))
    }
}
