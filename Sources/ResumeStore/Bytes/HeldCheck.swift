internal import ResumeFiles
internal import ResumeHTTP
internal import ResumeSQLite

/// The comparison of what was held before this transfer with its checksums: it runs beside the transfer, and must have
/// ended before anything is delivered.
///
/// A class, so that it ends when the transfer goes.
final class HeldCheck: Sendable {
    private let task: Task<[Block], any Error>
    private let flag = CancellationFlag()

    /// Begins to read.
    init(of blob: OpenFile, blocks: [Block]) {
        task = Task { [flag] in
            try await Blocking.runLater { try blob.damaged(among: blocks) { flag.value } }
        }
    }

    /// The blocks whose bytes are not those that were recorded.
    ///
    /// - Throws: ``SystemError``
    var damaged: [Block] {
        get async throws { try await task.value }
    }

    deinit { flag.set() }
}

extension Transfer {
    /// Lets nothing out that was held before and has not its checksums any more.
    func requireConfirmed() async throws {
        guard let damage = try await damageOfHeld() else { return }
        throw StoreError(
            .heldBytesDiffer, damage.text,
            advice: "The damaged bytes were removed. Run the download again to fetch them.")
    }

    /// Whether all that was held before this transfer began has its checksums.
    ///
    /// What has not is dropped, so that the next plan asks for it; that is recorded. Compared beside the transfer since
    /// its beginning, once.
    ///
    /// - Throws: ``StoreError``
    public func confirmHeld() async throws -> Bool { try await damageOfHeld() == nil }

    /// Does what ``confirmHeld()`` does.
    ///
    /// - Returns: Why bytes were dropped; nil where none were.
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
                // A file that is somebody else's as well is not written to: it is begun anew.
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
