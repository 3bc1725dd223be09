internal import ResumeSQLite
internal import Synchronization

/// Records how much was written, on the thread that wrote it: a commit takes less time than waking another thread does.
///
/// The bound it keeps: the death of the process costs at most 1 MiB, or what came in 250 ms.
final class ProgressRecorder: Sendable {
    fileprivate struct State {
        /// The part that is written.
        var part: PartReference
        /// Bytes from 0 on that a commit has recorded.
        var committed: Int64
        /// The checksums of what comes after, left by a commit that failed.
        var pending: [Block] = []
        /// Bytes from here on are not to be recorded yet; nil for none.
        var heldBack: Int64?
        /// Whether there is no row yet to record anything in.
        var isSuspended = false
        /// When the last commit began, by the store's clock.
        var lastCommit: Duration
        /// Looks again from time to time, since nobody may call when nothing comes any more.
        var look: Task<Void, Never>?
    }

    /// A commit is due when so many bytes are not recorded; one piece of 256 KiB may have come on top.
    static let unrecordedLimit: Int64 = 768 << 10
    /// How often it is looked whether what waits is due by now.
    private static let lookInterval: Duration = .milliseconds(20)
    /// How soon a commit that failed is tried again if nothing comes any more.
    private static let retryInterval: Duration = .milliseconds(200)

    private let store: DownloadStore
    private let writer: BodyWriter
    private let clock: StoreClock
    /// Locked during a commit: tasks try the lock only.
    private let state: Mutex<State>
    /// The same as in the state, for those who must not wait for a commit.
    private let committed: Atomic<Int64>
    /// The same as ``State/heldBack``, `.max` for nil.
    private let limit = Atomic(Int64.max)

    init(store: DownloadStore, writer: BodyWriter, part: PartReference) {
        self.store = store
        self.writer = writer
        clock = store.configuration.clock
        state = Mutex(State(part: part, committed: writer.held, lastCommit: clock.now()))
        committed = Atomic(writer.held)
    }

    /// How many bytes no commit has recorded yet.
    var unrecorded: Int64 { max(writer.held - recorded, 0) }

    /// Where the bytes end that survive the process.
    var recorded: Int64 { committed.load(ordering: .relaxed) }

    /// From where on bytes are not to be recorded yet; `.max` where there is none.
    var recordableEnd: Int64 { limit.load(ordering: .relaxed) }

    /// Begins with another part, of which so much is held and recorded.
    func reset(to part: PartReference, held: Int64) {
        state.withLock { state in
            state.look?.cancel()
            state = State(part: part, committed: held, lastCommit: clock.now())
            committed.store(held, ordering: .relaxed)
            limit.store(.max, ordering: .relaxed)
        }
    }

    /// Records nothing any more once bytes from an offset on are there, until nil is given.
    ///
    /// - Returns: From where on that was so before.
    @discardableResult
    func holdBack(from offset: Int64?) -> Int64? {
        state.withLock { state in
            defer {
                state.heldBack = offset
                limit.store(offset ?? .max, ordering: .relaxed)
            }
            return state.heldBack
        }
    }

    /// Records nothing until there is a row.
    func suspend() { state.withLock { $0.isSuspended = true } }

    /// Records in a row from now on.
    func resume(with part: PartReference) {
        state.withLock { state in
            state.part = part
            state.isSuspended = false
        }
    }

    /// Stops looking.
    func stop() {
        state.withLock { $0.look?.cancel() }
    }

    /// Records what is held where that is due; blocks meanwhile.
    ///
    /// - Parameter later: Records it, when it has become due and nothing has come since. Returns false where there is
    ///   nothing to record any more.
    /// - Returns: What is recorded; nil where it was not due.
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    func recordIfDue(later: @escaping @Sendable () async throws -> Bool) throws -> Claim? {
        try state.withLock { state in
            let held = state.recordable(writer.held)
            if state.isDue(held, at: clock.now()) { return try commit(&state) }
            if held > state.committed, state.look == nil { state.look = Task { await look(later) } }
            return nil
        }
    }

    /// Records what is held; blocks meanwhile.
    ///
    /// - Returns: What is recorded.
    /// - Throws: ``StoreError``, with `superseded` where somebody else started the entry over.
    @discardableResult
    func record() throws -> Claim {
        try state.withLock { state in
            let held = state.recordable(writer.held)
            return held > state.committed ? try commit(&state) : Claim(part: state.part, end: state.committed)
        }
    }

    private enum Finding {
        case nothing, notYet, due
    }

    private func look(_ later: @Sendable () async throws -> Bool) async {
        var pause = Self.lookInterval
        while true {
            do {
                try await clock.sleep(clock.now() + pause)
                let finding = state.withLockIfAvailable { state -> Finding in
                    let held = state.recordable(writer.held)
                    if held > state.committed { return state.isDue(held, at: clock.now()) ? .due : .notYet }
                    state.look = nil
                    return .nothing
                }
                // Where the lock is not to be had a commit runs.
                switch finding ?? .notYet {
                case .nothing: return
                case .notYet: break
                case .due: guard try await later() else { return }
                }
                pause = Self.lookInterval
            } catch is CancellationError {
                return
            } catch let error as StoreError where error.code == .superseded {
                // The next call tells it.
                return
            } catch {
                pause = Self.retryInterval
            }
        }
    }

    private func commit(_ state: inout State) throws -> Claim {
        KillPoint.reached(.bytesWritten)
        if let tail = writer.recordableTail(upTo: state.heldBack ?? .max) {
            state.pending.removeAll { $0.offset == tail.offset }
            state.pending.append(tail)
        }
        let (part, blocks) = (state.part, state.pending)
        // The end of what is known by its checksum, which more may have followed by now.
        let held = blocks.last?.end ?? state.committed
        state.lastCommit = clock.now()
        let isCurrent = try store.writeNow { connection in
            try connection.checkpoint(part, received: held - part.offset, durable: 0, blocks: blocks)
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.checkpointCommitted)
        state.pending = []
        state.committed = held
        committed.store(held, ordering: .relaxed)
        return Claim(part: part, end: held)
    }
}

/// What a commit has recorded of a part.
struct Claim: Sendable, Hashable {
    let part: PartReference
    /// Where the bytes end that survive the process.
    let end: Int64
}

extension ProgressRecorder.State {
    fileprivate func recordable(_ held: Int64) -> Int64 {
        isSuspended || held > heldBack ?? .max ? committed : held
    }

    fileprivate func isDue(_ held: Int64, at now: Duration) -> Bool {
        let unrecorded = held - committed
        guard unrecorded > 0 else { return false }
        if unrecorded >= ProgressRecorder.unrecordedLimit { return true }
        let elapsed = now - lastCommit
        // Early where it is cheap beside the transfer, so that less is fetched twice; late at the promised bound.
        return elapsed >= .milliseconds(200) || (unrecorded >= 128 << 10 && elapsed >= .milliseconds(10))
    }
}
