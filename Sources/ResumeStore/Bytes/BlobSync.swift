import ResumeFiles
import ResumeSQLite
import Synchronization

/// Flushes a blob to disk while it is being written, and records how many bytes are durable.
///
/// After a failed flush, nothing more is recorded as durable, and all bytes since the last successful flush are
/// discarded: the kernel may have dropped them, and a second flush would succeed without writing them.
final class BlobSync: Sendable {
    /// The blob that is flushed.
    private struct Subject {
        let id: Int64
        let generation: Int64
        let blob: OpenFile
        let name: BlobName

        init?(_ entry: Entry, blob: (any BodyStorage)?) {
            guard let blob = blob as? OpenFile, let name = entry.blobName else { return nil }
            id = entry.id
            generation = entry.generation
            self.blob = blob
            self.name = name
        }
    }

    private enum Phase {
        case idle
        /// Waiting until a flush of a small amount of data is due.
        case waiting(Task<Void, Never>)
        case flushing(Task<Void, any Error>)
    }

    private struct State {
        var subject: Subject?
        /// The start of the last flush, by the store's clock.
        var lastStart: Duration
        var phase = Phase.idle
        var failure: StoreError?
    }

    /// The accounts of the bytes to flush.
    let ledger: Mutex<BlobLedger>
    /// The store; nil for one in memory, which has neither rows nor files.
    let store: DownloadStore?
    private let state: Mutex<State>
    /// Held during a commit, so that the commits of a part are made in order.
    private let committing = Mutex(())
    let clock: StoreClock
    /// The number of bytes that may be written before room is made for more.
    let allowance: Atomic<Int64>
    /// The most bytes that a power loss may cost.
    private let interval: Int64
    /// The longest time until bytes are flushed.
    private static let longestDelay: Duration = .seconds(4)

    init(store: DownloadStore?, entry: Entry, blob: (any BodyStorage)?) {
        self.store = store
        // Memory has limits of its own.
        allowance = Atomic(store == nil ? .max : 0)
        interval = store?.configuration.durableInterval ?? .max
        clock = store?.configuration.clock ?? .continuous
        let now = clock.now()
        ledger = Mutex(BlobLedger(entry, at: now, interval: interval))
        state = Mutex(State(subject: Subject(entry, blob: blob), lastStart: now))
    }

    /// Continues with another blob, or without one, and closes the old one.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - blob: The blob.
    ///   - keepsLedger: Whether the bytes are the same as before.
    func reset(to entry: Entry, blob: (any BodyStorage)?, keepsLedger: Bool) {
        if !keepsLedger {
            let fresh = BlobLedger(entry, at: clock.now(), interval: interval)
            ledger.withLock { $0 = fresh }
        }
        state.withLock { state in
            if case .waiting(let task) = state.phase { task.cancel() }
            state = State(subject: Subject(entry, blob: blob), lastStart: clock.now())
        }
    }

    /// Whether more bytes may follow before a flush has ended.
    ///
    /// - Returns: False if the disk is slower than the network, so that the caller must wait for a flush.
    /// - Throws: The error of a flush in the background.
    func keepsUp() throws(StoreError) -> Bool {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return ledger.withLock(\.atRisk) < interval
    }

    /// Records the bytes of a part that may be recorded; blocks.
    ///
    /// - Parameters:
    ///   - part: The offset of the part; nil for the one that the main stream writes.
    ///   - onlyIfDue: Whether to record nothing before a commit is due.
    /// - Throws: ``StoreError``, with `superseded` if another process restarted the entry.
    func record(_ part: Int64?, onlyIfDue: Bool = false) throws {
        do {
            try committing.withLock { _ in
                let now = clock.now()
                let next = update(part) { onlyIfDue && !$0.isDue(at: now) ? nil : $0.commit(at: now) } ?? nil
                guard let commit = next else { return }
                KillPoint.reached(.bytesWritten)
                let isCurrent = try store?.writeNow { connection in
                    try connection.checkpoint(
                        commit.row, received: commit.end - commit.row.offset, durable: 0, blocks: commit.blocks)
                }
                guard isCurrent == true else { throw StoreError.superseded }
                KillPoint.reached(.checkpointCommitted)
                update(part) { $0.wasRecorded(commit) }
            }
        } catch let error as StoreError where error.code == .superseded {
            // A failed flush also changes the generation, and is the better explanation.
            _ = try keepsUp()
            throw error
        }
    }

    /// Records the bytes of all parts; blocks.
    func recordAll() throws {
        for offset in ledger.withLock({ $0.parts.map(\.offset) }) { try record(offset) }
    }

    /// Starts a flush in the background if enough bytes have arrived, or enough time has passed since the last one.
    func proceed() {
        state.withLock { proceed(&$0) }
    }

    private func proceed(_ state: inout State) {
        guard let subject = state.subject, state.failure == nil else { return }
        if case .flushing = state.phase { return }
        let flushable = ledger.withLock(\.flushable)
        guard flushable > 0 else { return }
        // At half of the bytes that may be lost, so that they are on disk before the rest arrives and no stream has to
        // wait.
        let isDue = flushable >= interval / 2 || clock.now() - state.lastStart >= Self.longestDelay
        if case .waiting(let task) = state.phase {
            guard isDue else { return }
            task.cancel()
        } else if !isDue {
            let due = state.lastStart + Self.longestDelay
            state.phase = .waiting(
                Task {
                    try? await clock.sleep(due)
                    guard !Task.isCancelled else { return }
                    self.state.withLock { state in
                        if case .waiting = state.phase { state.phase = .idle }
                        self.proceed(&state)
                    }
                })
            return
        }
        state.lastStart = clock.now()
        state.phase = .flushing(
            Task {
                do {
                    // Record first, so that the checksums of all bytes are known if the flush fails and the process
                    // dies.
                    try await Blocking.run { try self.recordAll() }
                    let flushes = ledger.withLock { $0.beginFlush() }
                    if !flushes.isEmpty { try await flush(subject, flushes) }
                } catch {
                    // The next commit tries again; an immediate attempt would fail again.
                    update(subject) { $0.phase = .idle }
                    throw error
                }
                update(subject) { state in
                    state.phase = .idle
                    proceed(&state)
                }
            })
    }

    /// Waits for a flush in the background.
    ///
    /// - Throws: The error of this flush or of an earlier one.
    func finish() async throws {
        let phase = state.withLock { $0.phase }
        if case .flushing(let task) = phase { try await task.value }
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Flushes everything that is recorded, and records that it is durable.
    func synchronize() async throws {
        let (subject, flushes) = begin()
        if let subject, !flushes.isEmpty { try await flush(subject, flushes) }
    }

    /// Flushes everything that is recorded, and commits that together with another change.
    ///
    /// - Returns: Whether the generation is still that of the entry.
    func synchronize(with change: @escaping @Sendable (borrowing Connection) throws -> Bool) async throws -> Bool {
        let (subject, flushes) = begin()
        if let subject, !flushes.isEmpty { try await synchronizeData(subject) }
        let isCurrent = try await store?.write(durability: .power) { connection in try change(connection) } ?? false
        if isCurrent { ledger.withLock { $0.wasFlushed(flushes) } }
        return isCurrent
    }

    private func begin() -> (Subject?, [PartLedger.Commit]) {
        (state.withLock { $0.subject }, ledger.withLock { $0.beginFlush() })
    }

    /// Flushes a blob; if that fails, discards the bytes since the last successful flush.
    private func synchronizeData(_ subject: Subject) async throws {
        do {
            try await Blocking.run { try subject.blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            // Set before the generation changes; otherwise the error would blame another process.
            update(subject) { $0.failure = failure }
            do {
                try await store?.write { connection in
                    _ = try connection.reduceChunks(of: subject.id, generation: subject.generation) { $0.durable }
                }
            } catch {
                // The row still claims the bytes; without the blob they are not trusted.
                try? store?.removeBlobs([subject.name])
            }
            throw failure
        }
        KillPoint.reached(.blobSynced)
    }

    /// Flushes a blob and records the durable bytes.
    private func flush(_ subject: Subject, _ flushes: [PartLedger.Commit]) async throws {
        try await synchronizeData(subject)
        let isCurrent = try await store?.write(durability: .power) { connection in
            // A download that takes long must not become the least recently used entry if the process is killed.
            try connection.setUsed(id: subject.id, now: WallClock.milliseconds)
            return try flushes.allSatisfy { flush in
                let length = flush.end - flush.row.offset
                return try connection.checkpoint(flush.row, received: length, durable: length)
            }
        }
        guard isCurrent == true else { throw StoreError.superseded }
        KillPoint.reached(.durableCommitted)
        ledger.withLock { $0.wasFlushed(flushes) }
    }

    /// Changes the state unless the subject has been replaced by another blob.
    private func update(_ subject: Subject, _ change: (inout State) -> Void) {
        state.withLock { state in
            if state.subject?.id == subject.id, state.subject?.generation == subject.generation {
                change(&state)
            }
        }
    }
}
