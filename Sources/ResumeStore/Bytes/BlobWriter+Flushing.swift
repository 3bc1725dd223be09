import ResumeFiles
import ResumeSQLite
import Synchronization

/// Flushes a blob to disk while it is being written, and records how many bytes are durable.
///
/// After a failed flush, nothing more is recorded as durable, and all bytes since the last successful flush are
/// discarded: the kernel may have dropped them, and a second flush would succeed without writing them.
extension BlobWriter {
    /// The longest time until bytes are flushed.
    private static let longestDelay: Duration = .seconds(4)

    /// Starts a flush in the background if enough bytes have arrived, or enough time has passed since the last one.
    func proceed() {
        state.withLock { proceed(&$0) }
    }

    private func proceed(_ state: inout State) {
        guard let subject = state.flushing.subject, state.flushing.failure == nil else { return }
        if case .flushing = state.flushing.phase { return }
        let flushable = state.ledger.flushable
        guard flushable > 0 else { return }
        // At half of the bytes that may be lost, so that they are on disk before the rest arrives and no stream has to
        // wait.
        let isDue = flushable >= interval / 2 || clock.now() - state.flushing.lastStart >= Self.longestDelay
        if case .waiting(let task) = state.flushing.phase {
            guard isDue else { return }
            task.cancel()
        } else if !isDue {
            let due = state.flushing.lastStart + Self.longestDelay
            state.flushing.phase = .waiting(
                Task {
                    try? await clock.sleep(due)
                    guard !Task.isCancelled else { return }
                    self.state.withLock { state in
                        if case .waiting = state.flushing.phase { state.flushing.phase = .idle }
                        self.proceed(&state)
                    }
                })
            return
        }
        state.flushing.lastStart = clock.now()
        state.flushing.phase = .flushing(
            Task {
                do {
                    // Record first, so that the checksums of all bytes are known if the flush fails and the process
                    // dies.
                    try await Blocking.run { try self.recordAll() }
                    // If the blob was replaced, the ledger has the bytes of another one, which are not flushed here.
                    let flushes = self.state.withLock { state in
                        subject.isSame(as: state.flushing.subject) ? state.ledger.beginFlush() : []
                    }
                    if !flushes.isEmpty { try await flush(subject, flushes) }
                } catch {
                    // The next commit tries again; an immediate attempt would fail again.
                    update(subject) { $0.flushing.phase = .idle }
                    throw error
                }
                update(subject) { state in
                    state.flushing.phase = .idle
                    proceed(&state)
                }
            })
    }

    /// Waits for a flush in the background.
    ///
    /// - Throws: The error of this flush or of an earlier one.
    func finish() async throws {
        let phase = state.withLock(\.flushing.phase)
        if case .flushing(let task) = phase { try await task.value }
        if let failure = state.withLock(\.flushing.failure) { throw failure }
    }

    /// Flushes everything that is recorded, and records that it is durable.
    func synchronize() async throws {
        let (subject, flushes) = beginFlush()
        if let subject, !flushes.isEmpty { try await flush(subject, flushes) }
    }

    /// Flushes everything that is recorded, and commits that together with another change.
    ///
    /// - Returns: Whether the generation is still that of the entry.
    func synchronize(with change: @escaping @Sendable (borrowing Connection) throws -> Bool) async throws -> Bool {
        let (subject, flushes) = beginFlush()
        if let subject, !flushes.isEmpty { try await synchronizeData(subject) }
        let isCurrent = try await store?.write(durability: .power) { connection in try change(connection) } ?? false
        if isCurrent { withLedger { $0.wasFlushed(flushes) } }
        return isCurrent
    }

    private func beginFlush() -> (Subject?, [PartLedger.Commit]) {
        state.withLock { ($0.flushing.subject, $0.ledger.beginFlush()) }
    }

    /// Flushes a blob; if that fails, discards the bytes since the last successful flush.
    private func synchronizeData(_ subject: Subject) async throws {
        do {
            try await Blocking.run { try subject.blob.synchronizeData() }
        } catch {
            let failure = StoreError(wrapping: error)
            // Set before the generation changes; otherwise the error would blame another process.
            update(subject) { $0.flushing.failure = failure }
            do {
                try await store?.write { connection in
                    _ = try connection.reduceChunks(of: subject.entry) { $0.durable }
                }
            } catch {
                // The row still claims the bytes; without the blob they are not trusted.
                try? store?.folder.remove([subject.name])
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
            try connection.run(
                "UPDATE download SET used_at = ? WHERE id = ?", WallClock.milliseconds, subject.entry.id)
            return try flushes.allSatisfy { flush in
                let length = flush.end - flush.row.offset
                return try connection.checkpoint(flush.row, received: length, durable: length)
            }
        }
        guard isCurrent == true else { throw StoreError.superseded }
        KillPoint.reached(.durableCommitted)
        withLedger { $0.wasFlushed(flushes) }
    }

    /// Changes the state unless the subject has been replaced by another blob.
    private func update(_ subject: Subject, _ change: (inout State) -> Void) {
        state.withLock { state in
            if subject.isSame(as: state.flushing.subject) { change(&state) }
        }
    }
}
