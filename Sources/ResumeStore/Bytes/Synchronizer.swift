internal import ResumeSQLite
internal import Synchronization

/// Brings a blob to disk beside the running transfer, and records how far that went.
///
/// After a failed sync nothing advances: what was written since the last good one is given up, since the kernel may
/// have dropped it while it says that all is well.
final class Synchronizer: Sendable {
    /// What is brought to disk.
    fileprivate struct Subject {
        let id: Int64
        let generation: Int64
        let blob: OpenFile
        let name: BlobName

        /// The first blob of an entry.
        init?(_ entry: Entry, blob: OpenFile?) {
            guard let blob, let name = entry.chunks.first.flatMap({ BlobName(path: $0.path) }) else { return nil }
            (id, generation, self.blob, self.name) = (entry.id, entry.generation, blob, name)
        }

        func part(at offset: Int64) -> PartReference {
            PartReference(id: id, generation: generation, offset: offset)
        }
    }

    /// How many bytes of a part survive what.
    fileprivate struct Progress {
        /// The process.
        var recorded: Int64
        /// A power loss.
        var durable: Int64
    }

    fileprivate struct State {
        var subject: Subject?
        /// The parts, by where they begin.
        var parts: [Int64: Progress]
        /// How many bytes of them survive the process only.
        var unsynced: Int64
        /// When the last sync began, by the store's clock.
        var lastStart: Duration
        var phase = Phase.idle
        var failure: StoreError?

        init(_ entry: Entry, blob: OpenFile?, lastStart: Duration) {
            self.lastStart = lastStart
            subject = Subject(entry, blob: blob)
            parts = entry.chunks.reduce(into: [:]) {
                $0[$1.offset] = Progress(recorded: $1.length, durable: min($1.durable, $1.length))
            }
            unsynced = parts.values.reduce(0) { $0.addingSaturating($1.recorded - $1.durable) }
        }
    }

    fileprivate enum Phase {
        case idle
        /// Until so little is due as well.
        case waiting(Task<Void, Never>)
        case syncing(Task<Void, any Error>)
    }

    private let store: DownloadStore
    private let state: Mutex<State>
    private let interval: Int64
    private let clock: StoreClock
    /// The longest time that bytes are left to the kernel.
    private static let longestDelay: Duration = .seconds(4)

    init(store: DownloadStore, entry: Entry, blob: OpenFile?) {
        self.store = store
        interval = store.configuration.durableInterval
        clock = store.configuration.clock
        state = Mutex(State(entry, blob: blob, lastStart: clock.now()))
    }

    /// Begins with another blob, or with none: then it lets go of the old one.
    func reset(to entry: Entry, blob: OpenFile?) {
        state.withLock { state in
            if case .waiting(let task) = state.phase { task.cancel() }
            state = State(entry, blob: blob, lastStart: clock.now())
        }
    }

    /// Whether more may come before a sync has ended: a disk that is slower than the network is waited for.
    ///
    /// - Parameter unrecorded: How many bytes have come that no commit has recorded.
    /// - Returns: False where a sync is to be waited for.
    /// - Throws: What a sync in the background failed with.
    func keepsUp(with unrecorded: Int64) throws(StoreError) -> Bool {
        let (failure, unsynced) = state.withLock { ($0.failure, $0.unsynced) }
        if let failure { throw failure }
        return unsynced.addingSaturating(unrecorded) < interval
    }

    /// Takes note of a commit; syncs in the background when enough was written or time has passed since the last one.
    ///
    /// - Returns: Whether a sync of just that begins.
    func advance(to claim: Claim) -> Bool {
        state.withLock { state in
            guard let subject = state.subject, subject.part(at: claim.part.offset) == claim.part else { return false }
            let known = state.parts[claim.part.offset] ?? Progress(recorded: 0, durable: 0)
            let recorded = claim.end - claim.part.offset
            if recorded > known.recorded {
                state.unsynced = state.unsynced.addingSaturating(recorded - known.recorded)
                state.parts[claim.part.offset] = Progress(recorded: recorded, durable: known.durable)
            }
            if case .syncing = state.phase { return false }
            proceed(&state)
            if case .syncing = state.phase { return recorded >= known.recorded }
            return false
        }
    }

    private func proceed(_ state: inout State) {
        guard let subject = state.subject, state.failure == nil, state.unsynced > 0 else { return }
        // Half of what may be lost, so that it is on disk before the rest has come, and nobody waits.
        let isDue =
            state.unsynced >= interval / 2 || clock.now() - state.lastStart >= Self.longestDelay
        switch state.phase {
        case .syncing: return
        case .waiting(let task):
            guard isDue else { return }
            task.cancel()
        case .idle:
            guard !isDue else { break }
            let due = state.lastStart + Self.longestDelay
            state.phase = .waiting(
                Task {
                    try? await clock.sleep(due)
                    if !Task.isCancelled { self.state.withLock { self.proceed(&$0) } }
                })
            return
        }
        let recorded = state.recordedOnly
        state.lastStart = clock.now()
        state.phase = .syncing(
            Task {
                do {
                    try await synchronize(subject, upTo: recorded)
                } catch {
                    // The next commit tries again: what failed now would fail at once another time.
                    update(subject) { $0.phase = .idle }
                    throw error
                }
                update(subject) { state in
                    state.phase = .idle
                    // With what has come meanwhile.
                    proceed(&state)
                }
            })
    }

    /// Waits for the sync that runs, if one does.
    ///
    /// - Throws: What one failed with.
    func finish() async throws {
        let phase = state.withLock { $0.phase }
        if case .syncing(let task) = phase { try await task.value }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Syncs now what ``advance(to:)`` was told of, and records it.
    func synchronize() async throws {
        let (subject, recorded) = state.withLock { ($0.subject, $0.recordedOnly) }
        guard let subject, !recorded.isEmpty else { return }
        try await synchronize(subject, upTo: recorded)
    }

    /// Syncs now what ``advance(to:)`` was told of, and records with something else that everything is on disk.
    ///
    /// - Returns: Whether the generation still is the entry's.
    func synchronize(with change: @escaping @Sendable (borrowing Connection) throws -> Bool) async throws -> Bool {
        let (subject, recorded) = state.withLock { ($0.subject, $0.recordedOnly) }
        if let subject, !recorded.isEmpty { try await synchronizeData(subject) }
        let isCurrent = try await store.write(durability: .power) { connection in try change(connection) }
        if isCurrent, let subject { setDurable(recorded, of: subject) }
        return isCurrent
    }

    /// Syncs the blob and records nothing of it: for bytes that are about to leave the store.
    func synchronizeData() async throws {
        guard let subject = state.withLock({ $0.subject }) else { return }
        try await synchronizeData(subject)
    }

    /// Takes note that the blob, which no row names, could not be brought to disk.
    ///
    /// - Returns: What everything else fails with from now on.
    func fail(with error: SystemError) -> StoreError {
        let failure = StoreError(wrapping: error)
        state.withLock { $0.failure = failure }
        return failure
    }

    /// Brings a blob to disk; where that fails, what came since the last good time is given up.
    private func synchronizeData(_ subject: Subject) async throws {
        do {
            try await Blocking.run { try subject.blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            // Told before the generation changes: that is not somebody else's doing.
            update(subject) { $0.failure = failure }
            do {
                try await store.write { connection in
                    _ = try connection.reduceChunks(of: subject.id, generation: subject.generation) { $0.durable }
                }
            } catch {
                // The row still claims them: then the blob must not be there to be believed.
                try? store.removeBlobs([subject.name])
            }
            throw failure
        }
        KillPoint.reached(.blobSynced)
    }

    /// Syncs a blob, of whose parts so much was written before, by where they begin.
    private func synchronize(_ subject: Subject, upTo recorded: [Int64: Int64]) async throws {
        try await synchronizeData(subject)
        let isCurrent = try await store.write(durability: .power) { connection in
            // It is in use, however long it takes: a kill must not leave it as the one that was used least recently.
            try connection.setUsed(id: subject.id, now: WallClock.milliseconds)
            return try recorded.allSatisfy { offset, length in
                try connection.checkpoint(subject.part(at: offset), received: length, durable: length)
            }
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.durableCommitted)
        setDurable(recorded, of: subject)
    }

    private func setDurable(_ recorded: [Int64: Int64], of subject: Subject) {
        update(subject) { state in
            for (offset, length) in recorded {
                guard let durable = state.parts[offset]?.durable, durable < length else { continue }
                state.parts[offset]?.durable = length
                state.unsynced -= length - durable
            }
        }
    }

    /// Changes the state unless another blob has taken the subject's place meanwhile.
    private func update(_ subject: Subject, _ change: (inout State) -> Void) {
        state.withLock { state in
            if state.subject?.part(at: 0) == subject.part(at: 0) { change(&state) }
        }
    }
}

extension Synchronizer.State {
    /// How much of each part survives the process only, by where the parts begin.
    fileprivate var recordedOnly: [Int64: Int64] {
        parts.filter { $0.value.recorded > $0.value.durable }.mapValues(\.recorded)
    }
}
