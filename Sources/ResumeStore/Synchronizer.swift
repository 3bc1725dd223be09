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
    struct Subject {
        let id: Int64
        let generation: Int64
        let blob: OpenFile
        let name: BlobName
    }

    private struct State {
        var subject: Subject?
        /// Bytes from 0 on that survive a power loss.
        var durable: Int64
        var lastStart = ContinuousClock.now
        var running: Task<Void, any Error>?
        var failure: StoreError?
    }

    private let store: DownloadStore
    private let state: Mutex<State>
    private let interval: Int64
    /// The longest time that bytes are left to the kernel.
    private static let longestDelay: Duration = .seconds(4)

    init(store: DownloadStore, subject: Subject?, durable: Int64) {
        self.store = store
        interval = store.configuration.durableInterval
        state = Mutex(State(subject: subject, durable: durable))
    }

    /// Begins with a new blob, or with none.
    func reset(to subject: Subject?) {
        state.withLock { $0 = State(subject: subject, durable: 0) }
    }

    /// Whether more may come before a sync has ended: a disk that is slower than the network is waited for.
    ///
    /// - Throws: What a sync in the background failed with.
    func keepsUp(with held: Int64) throws(StoreError) -> Bool {
        let (failure, durable) = state.withLock { ($0.failure, $0.durable) }
        if let failure { throw failure }
        return held - durable < interval
    }

    /// Starts a sync in the background if enough was written since the last one, and none runs.
    func startIfDue(held: Int64) {
        state.withLock { state in
            let unsynced = held - state.durable
            let isDue = unsynced >= interval / 2 || ContinuousClock.now - state.lastStart >= Self.longestDelay
            guard state.running == nil, unsynced > 0, isDue else { return }
            state.lastStart = .now
            state.running = Task {
                defer { self.state.withLock { $0.running = nil } }
                try await self.synchronize(upTo: held)
            }
        }
    }

    /// Waits for the sync that runs, if one does.
    ///
    /// - Throws: What one failed with.
    func finish() async throws {
        let running = state.withLock { $0.running }
        try await running?.value
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Syncs now, and records it.
    func synchronize(upTo held: Int64) async throws {
        let (subject, durable) = state.withLock { ($0.subject, $0.durable) }
        guard let subject, held > durable else { return }
        let (id, generation) = (subject.id, subject.generation)
        do {
            try await Blocking.run { try subject.blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            state.withLock { state in
                if state.subject?.generation == generation { state.failure = failure }
            }
            do {
                try await store.write { connection in try connection.giveUpUnsynced(id: id, generation: generation) }
            } catch {
                // The row still claims them: then the blob must not be there to be believed.
                try? store.removeBlobs([subject.name])
            }
            throw failure
        }
        KillPoint.reached(.blobSynced)
        let isCurrent = try await store.write(durability: .power) { connection in
            try connection.checkpoint(id: id, generation: generation, received: held, durable: held)
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.durableCommitted)
        state.withLock { state in
            // Somebody may have begun with another blob meanwhile.
            if state.subject?.generation == generation { state.durable = max(state.durable, held) }
        }
    }
}

extension Synchronizer.Subject {
    /// The first blob of an entry.
    init?(_ entry: Entry, blob: OpenFile?) {
        guard let blob, let name = entry.chunks.first.flatMap({ BlobName(path: $0.path) }) else { return nil }
        self.init(id: entry.id, generation: entry.generation, blob: blob, name: name)
    }
}

/// Runs blocking calls off the cooperative pool, which has a thread a core and no more, and off event loops.
package enum Blocking {
    private static let queue = DispatchQueue(label: "resume-store.blocking", attributes: .concurrent)

    /// Runs a body that may block.
    ///
    /// - Returns: What it returned.
    /// - Throws: What it threw.
    package static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }
}
