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
        guard let check = earlier.check else { return nil }
        let damaged = try await check.damaged.value
        // Other calls may have replaced the blob meanwhile.
        guard earlier.check === check else { return try await damageOfHeld() }
        guard let first = damaged.first else {
            earlier.check = nil
            writer.changeReading { $0.confirm(givesUp: false) }
            return nil
        }
        try? await writer.finish()
        try checkpoint()
        let isShared = ((try? file?.status().links) ?? 2) != 1
        let (lost, before) = (damaged.heldBytes, receivedBytes)
        // A file that also has a name outside the store must not be written to, so the download restarts in a new one.
        try await reduce(.damaged, .blockDamaged(first.range), lost: lost) { chunks in
            isShared ? [] : damaged.reduce(chunks) { $0.removing($1.range) }
        }
        begin(with: isShared ? nil : blob)
        earlier.lose(before - receivedBytes)
        // Not before the damage is removed: if that fails, the next delivery finds it again.
        earlier.check = nil
        writer.changeReading { $0.confirm(givesUp: true) }
        earlier.damage = .blockDamaged(first.range)
        return damage
    }
}

/// Whether the stored bytes are known to belong to one representation.
extension Transfer {
    /// False if responses were combined without a validator and no digest of the whole file is compared.
    package var isProved: Bool {
        get async {
            if policy.hasDigest { return true }
            if entry.agreedSamples != nil { return false }
            if exchange.bodies.isSpliced == nil { exchange.bodies.isSpliced = await wasSpliced() }
            return exchange.bodies.isSpliced == false
        }
    }

    /// Returns whether an earlier transfer combined the stored bytes from several responses.
    ///
    /// The log has all decisions since the first response, unless that was too long ago.
    private func wasSpliced() async -> Bool {
        guard let representation = entry.representation, representation.validator == nil, receivedBytes > 0 else {
            return false
        }
        guard let events = try? await store.events(for: entry.key),
            let start = events.lastIndex(where: { $0.kind == .started || $0.kind == .restarted })
        else { return true }
        return events[start...].contains { $0.reason.code == Reason.resumedUnvalidatedCode }
    }
}

extension Reason {
    static func delivered(to place: String, isProved: Bool) -> Reason {
        Reason(
            "delivered",
            "the complete file was delivered to \(place)"
                + (isProved ? "" : "; no validator or digest proves that it is one version"))
    }
}
