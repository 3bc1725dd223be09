internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// Compares bytes that were stored before this transfer with their checksums.
///
/// It runs in parallel with the transfer, and must finish before anything is delivered. It is a class, so that it stops
/// when the transfer is released.
final class HeldCheck: Sendable {
    private let task: Task<[Block], any Error>
    private let flag = CancellationFlag()

    /// Starts reading.
    init(of blob: OpenFile, blocks: [Block]) {
        task = Task { [flag] in
            try await Blocking.runLater { try blob.damaged(among: blocks) { flag.value } }
        }
    }

    /// The blocks whose bytes do not match the recorded checksums.
    ///
    /// - Throws: ``SystemError``
    var damaged: [Block] {
        get async throws { try await task.value }
    }

    deinit { flag.set() }
}

extension Transfer {
    /// Throws if bytes that were stored before this transfer do not match their checksums.
    func requireConfirmed() async throws {
        guard let damage = try await damageOfHeld() else { return }
        throw StoreError(
            .heldBytesDiffer, damage.text,
            advice: "The damaged bytes were removed. Run the download again to fetch them.")
    }

    /// Verifies the checksums of all bytes that were stored before this transfer began.
    ///
    /// Bytes that do not match are discarded, so that the next plan requests them, and the event is recorded. The bytes
    /// are compared once, in parallel with the transfer since its beginning.
    ///
    /// - Returns: Whether all of them match.
    /// - Throws: ``StoreError``
    public func confirmHeld() async throws -> Bool { try await damageOfHeld() == nil }

    /// Implements ``confirmHeld()``.
    ///
    /// - Returns: Why bytes were discarded; nil if none were.
    private func damageOfHeld() async throws -> Reason? {
        try requireOpen()
        guard let check = heldCheck else { return nil }
        let damaged: [Block]
        do {
            damaged = try await check.damaged
        } catch {
            throw StoreError(wrapping: error)
        }
        heldCheck = nil
        guard let first = damaged.first else {
            readable.confirm(givesUp: false)
            return nil
        }
        try? await sync.finish()
        try checkpoint()
        let entry = entry
        let isShared = ((try? blob?.status().links) ?? 2) != 1
        let reduced: Entry? = try await store.write { connection in
            try connection.record(
                Event(
                    key: entry.key, at: WallClock.milliseconds, kind: .damaged, reason: .blockDamaged(first.range),
                    bytes: damaged.reduce(0) { $0.addingSaturating($1.length) }))
            let isCurrent = try connection.reduceChunks(of: entry.id, generation: entry.generation) { chunks in
                // A file that also has a name outside the store must not be written to, so the download restarts in a
                // new one.
                isShared ? [] : damaged.reduce(chunks) { $0.removing($1.range) }
            }
            return isCurrent ? try connection.entry(id: entry.id) : nil
        }
        try take(reduced)
        begin(with: isShared ? nil : blob)
        readable.confirm(givesUp: true)
        damage = .blockDamaged(first.range)
        return damage
    }
}
