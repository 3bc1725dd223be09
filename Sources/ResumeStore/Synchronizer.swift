#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif
internal import ResumeSQLite
internal import Synchronization

/// Brings a blob to disk beside the running transfer, and records how far that went.
///
/// After a failed sync nothing advances: what was written since the last good one is given up, since the kernel may
/// have dropped it while it says that all is well.
final class Synchronizer: Sendable {
    /// What is brought to disk.
    private struct Subject {
        let part: PartReference
        let blob: OpenFile
        let name: BlobName

        /// The first blob of an entry.
        init?(_ entry: Entry, blob: OpenFile?) {
            guard let blob, let name = entry.chunks.first.flatMap({ BlobName(path: $0.path) }) else { return nil }
            (part, self.blob, self.name) = (entry.part, blob, name)
        }
    }

    private struct State {
        var subject: Subject?
        /// Bytes from 0 on that survive the process.
        var recorded: Int64
        /// Bytes from 0 on that survive a power loss.
        var durable: Int64
        var lastStart = ContinuousClock.now
        var phase = Phase.idle
        var failure: StoreError?
    }

    private enum Phase {
        case idle
        /// Until so little is due as well.
        case waiting(Task<Void, Never>)
        case syncing(Task<Void, any Error>)
    }

    private let store: DownloadStore
    private let state: Mutex<State>
    private let interval: Int64
    /// The longest time that bytes are left to the kernel.
    private static let longestDelay: Duration = .seconds(4)

    init(store: DownloadStore, entry: Entry, blob: OpenFile?) {
        self.store = store
        interval = store.configuration.durableInterval
        let subject = Subject(entry, blob: blob)
        state = Mutex(State(subject: subject, recorded: entry.chunks.contiguousEnd, durable: entry.durableEnd))
    }

    /// Begins with another blob, or with none: then it lets go of the old one.
    func reset(to entry: Entry, blob: OpenFile?) {
        state.withLock { state in
            if case .waiting(let task) = state.phase { task.cancel() }
            state = State(
                subject: Subject(entry, blob: blob), recorded: entry.chunks.contiguousEnd, durable: entry.durableEnd)
        }
    }

    /// Whether more may come before a sync has ended: a disk that is slower than the network is waited for.
    ///
    /// - Throws: What a sync in the background failed with.
    func keepsUp(with held: Int64) throws(StoreError) -> Bool {
        let (failure, durable) = state.withLock { ($0.failure, $0.durable) }
        if let failure { throw failure }
        return held - durable < interval
    }

    /// Takes note of a commit; syncs in the background when enough was written or time has passed since the last one.
    ///
    /// - Returns: Whether a sync of just that begins.
    func advance(to recorded: Int64) -> Bool {
        state.withLock { state in
            state.recorded = max(state.recorded, recorded)
            if case .syncing = state.phase { return false }
            proceed(&state)
            if case .syncing = state.phase { return state.recorded == recorded }
            return false
        }
    }

    private func proceed(_ state: inout State) {
        guard let subject = state.subject, state.failure == nil, state.recorded > state.durable else { return }
        // Half of what may be lost, so that it is on disk before the rest has come, and nobody waits.
        let isDue =
            state.recorded - state.durable >= interval / 2 || ContinuousClock.now - state.lastStart >= Self.longestDelay
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
                    try? await Task.sleep(until: due, clock: .continuous)
                    if !Task.isCancelled { self.state.withLock { self.proceed(&$0) } }
                })
            return
        }
        let recorded = state.recorded
        state.lastStart = .now
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

    /// Syncs now, and records it.
    func synchronize(upTo held: Int64) async throws {
        guard let subject = unsynchronized(upTo: held) else { return }
        try await synchronize(subject, upTo: held)
    }

    /// Syncs now what has not been, and records nothing of it: for bytes that are about to leave the store.
    func synchronizeData(upTo held: Int64) async throws {
        guard let subject = unsynchronized(upTo: held) else { return }
        try await synchronizeData(subject)
    }

    /// Syncs now what has not been, and records that with something else.
    ///
    /// - Returns: Whether the generation still is the entry's.
    func synchronize(
        upTo held: Int64, with change: @escaping @Sendable (borrowing Connection) throws -> Bool
    ) async throws -> Bool {
        let subject = unsynchronized(upTo: held)
        if let subject { try await synchronizeData(subject) }
        let isCurrent = try await store.write(durability: .power) { connection in try change(connection) }
        if isCurrent, let subject { update(subject) { $0.durable = max($0.durable, held) } }
        return isCurrent
    }

    private func unsynchronized(upTo held: Int64) -> Subject? {
        state.withLock { held > $0.durable ? $0.subject : nil }
    }

    /// Brings the bytes to disk; where that fails, those since the last good time are given up.
    private func synchronizeData(_ subject: Subject) async throws {
        let part = subject.part
        do {
            try await Blocking.run { try subject.blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            // Told before the generation changes: that is not somebody else's doing.
            update(subject) { $0.failure = failure }
            do {
                try await store.write { connection in
                    _ = try connection.reduceChunks(of: part.id, generation: part.generation) { $0.durable }
                }
            } catch {
                // The row still claims them: then the blob must not be there to be believed.
                try? store.removeBlobs([subject.name])
            }
            throw failure
        }
        KillPoint.reached(.blobSynced)
    }

    private func synchronize(_ subject: Subject, upTo held: Int64) async throws {
        let part = subject.part
        try await synchronizeData(subject)
        let isCurrent = try await store.write(durability: .power) { connection in
            // It is in use, however long it takes: a kill must not leave it as the one that was used least recently.
            try connection.setUsed(id: part.id, now: WallClock.milliseconds)
            return try connection.checkpoint(part, received: held - part.offset, durable: held - part.offset)
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.durableCommitted)
        update(subject) { $0.durable = max($0.durable, held) }
    }

    /// Changes the state unless another blob has taken the subject's place meanwhile.
    private func update(_ subject: Subject, _ change: (inout State) -> Void) {
        state.withLock { state in
            if state.subject?.part == subject.part { change(&state) }
        }
    }
}

/// Runs blocking calls off the cooperative pool, which has a thread a core and no more, and off event loops.
package enum Blocking {
    private static let queue = DispatchQueue(label: "resume-store.blocking", attributes: .concurrent)
    /// What may wait for everything else.
    private static let laterQueue = DispatchQueue(label: "resume-store.later", qos: .utility, attributes: .concurrent)

    /// Runs a body that may block.
    ///
    /// - Returns: What it returned.
    /// - Throws: What it threw.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await run(on: queue, body)
    }

    /// Does what ``run(_:)`` does when nothing else is to be done.
    static func runLater<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await run(on: laterQueue, body)
    }

    private static func run<Result: Sendable>(
        on queue: DispatchQueue, _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
