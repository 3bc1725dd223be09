import ResumeFiles
import ResumeHTTP

/// Compares stored bytes with their checksums before they leave the store.
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
    /// Bytes that do not match are discarded, so that the next request fetches them, and an event is recorded. The
    /// bytes are compared once, in the background, starting when the transfer is opened.
    ///
    /// - Returns: Whether all bytes match.
    /// - Throws: ``StoreError``, such as `io` if the bytes cannot be read.
    public func confirmHeld() async throws -> Bool { try await damageOfHeld() == nil }

    /// Implements ``confirmHeld()``.
    ///
    /// - Returns: Why bytes were discarded; nil if none were.
    private func damageOfHeld() async throws -> Reason? {
        try requireOpen()
        guard let check = heldCheck else { return nil }
        let damaged = try await check.damaged.value
        heldCheck = nil
        guard let first = damaged.first else {
            readable.confirm(givesUp: false)
            return nil
        }
        try? await sync.finish()
        try checkpoint()
        let isShared = ((try? file?.status().links) ?? 2) != 1
        let lost = damaged.heldBytes
        // A file that also has a name outside the store must not be written to, so the download restarts in a new one.
        try await reduce(.damaged, .blockDamaged(first.range), lost: lost) { chunks in
            isShared ? [] : damaged.reduce(chunks) { $0.removing($1.range) }
        }
        begin(with: isShared ? nil : blob)
        readable.confirm(givesUp: true)
        damage = .blockDamaged(first.range)
        return damage
    }
}
