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
    private struct State {
        var durable: Int64
        var lastStart = ContinuousClock.now
        var running: Task<Void, any Error>?
        var failure: StoreError?
    }

    private let state: Mutex<State>
    private let interval: Int64
    /// The longest time that bytes are left to the kernel.
    private static let longestDelay: Duration = .seconds(4)

    init(durable: Int64, interval: Int64) {
        state = Mutex(State(durable: durable))
        self.interval = interval
    }

    /// Begins with a new blob.
    func reset() {
        state.withLock { $0 = State(durable: 0) }
    }

    /// Throws what a sync in the background failed with.
    func rethrow() throws(StoreError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Starts a sync in the background if enough was written since the last one, and none runs.
    func startIfDue(held: Int64, blob: OpenFile, entry: Entry, store: DownloadStore) {
        state.withLock { state in
            let unsynced = held - state.durable
            let isDue = unsynced >= interval / 4 * 3 || ContinuousClock.now - state.lastStart >= Self.longestDelay
            guard state.running == nil, unsynced > 0, isDue else { return }
            state.lastStart = .now
            state.running = Task {
                defer { self.state.withLock { $0.running = nil } }
                try await self.run(to: held, blob: blob, entry: entry, store: store)
            }
        }
    }

    /// How many bytes survive a power loss.
    var durable: Int64 { state.withLock { $0.durable } }

    /// Waits for the sync that runs, if one does.
    func finish() async throws {
        let running = state.withLock { $0.running }
        try await running?.value
        try rethrow()
    }

    /// Syncs now, and records it.
    func run(to held: Int64, blob: OpenFile, entry: Entry, store: DownloadStore) async throws {
        guard held > state.withLock({ $0.durable }) else { return }
        let (id, generation) = (entry.id, entry.generation)
        do {
            try await Blocking.run { try blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            state.withLock { $0.failure = failure }
            do {
                try await store.write { connection in try connection.giveUpUnsynced(id: id, generation: generation) }
            } catch {
                // The row still claims them: then the blob must not be there to be believed.
                try? store.removeBlobs(entry.chunks.compactMap { BlobName(path: $0.path) })
            }
            throw failure
        }
        KillPoint.reached(.blobSynced)
        let isCurrent = try await store.write(durability: .power) { connection in
            try connection.checkpoint(id: id, generation: generation, received: held, durable: held)
        }
        guard isCurrent else { throw Transfer.superseded }
        KillPoint.reached(.durableCommitted)
        state.withLock { $0.durable = max($0.durable, held) }
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
