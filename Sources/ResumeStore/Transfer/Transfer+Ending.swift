internal import ResumeHTTP
internal import ResumeSQLite

/// How a body and a transfer end.
extension Transfer {
    /// How the body of a response ended.
    public enum BodyEnding: Sendable, Hashable {
        /// At its announced length, or with its last chunk.
        case whole
        /// With the connection, which for a body without length and chunks is either the end or a cut.
        case closeDelimited
        /// Before its end, or because it was not read to its end.
        case cut
    }

    /// Ends a body.
    ///
    /// Where it came whole and its `Content-Digest` is another one, call ``rewind(to:reason:)`` instead.
    ///
    /// - Parameter ending: How it ended.
    /// - Returns: Whether every byte is there now. Only coverage of every byte of the complete length counts.
    /// - Throws: ``StoreError``
    public func endBody(_ ending: BodyEnding) async throws -> Bool {
        try await endBody(ending, isDelivered: false)
    }

    /// Does what ``endBody(_:)`` does.
    ///
    /// - Parameters:
    ///   - ending: How it ended.
    ///   - isDelivered: Whether the whole is delivered next: then one that is so short that the death of the process
    ///     may cost it is not recorded before.
    /// - Returns: Whether every byte is there now.
    /// - Throws: ``StoreError``
    package func endBody(_ ending: BodyEnding, isDelivered: Bool) async throws -> Bool {
        try requireOpen()
        let isAtBorder = main.isAtBorder
        main.bodyEnded()
        let body = main.writer.end()
        if let length = body?.completeLength(after: ending), entry.representation?.completeLength == nil {
            try await learnLength(length)
        }
        if body?.hasComparedHeld == true { try await grantAccess() }
        if isDelivered, isBrief {
            // Its row goes with its delivery.
            try main.recordIfDue()
        } else {
            try await becomeOrdinary()
            try checkpoint()
        }
        if !segments.isEmpty || entry.chunks.contains(where: { $0.offset == held && $0.length > 0 }) {
            try await goOnAtEnd()
        }
        let isUseless = isAtBorder && receivedBytes <= receivedBefore
        // Who is cut there may get further the next time; who ends there will end there again.
        uncompared = !isUseless ? 0 : uncompared + (ending == .cut ? 1 : 2)
        if asksForWhole { try await note(.gapNotCompared) }
        return isComplete
    }

    /// Whether answers end right where bytes are held behind a gap, as those of a server do that sends aligned blocks: then
    /// those are never compared, and the gap stays.
    var asksForWhole: Bool { uncompared > 1 }

    /// Goes on at the end of a part that what was held has come up to, or of what several streams brought.
    private func goOnAtEnd() async throws {
        // A sync that runs is that of the parts as they are now.
        try await synchronize()
        try await reload()
        begin(with: blob)
    }

    /// Ends the transfer and lets the next one work on the entry.
    func release() {
        isClosed = true
        lease = nil
        keyLease = nil
        onClaim = nil
        if let name = unclaimedName?.name { try? store.removeBlobs([name]) }
        unclaimedName = nil
        heldCheck = nil
        // An open file keeps its blocks, also when the collector has removed its name.
        main.stop()
        for segment in segments { segment.stop() }
        sync.reset(to: entry, blob: nil, keepsLedger: true)
        blob = nil
    }

    /// Lets go of the entry as it is recorded, without a word to the database.
    ///
    /// For where that cannot be had: then ``close()`` would only wait for it once more.
    package func letGo() {
        guard !isClosed else { return }
        readable.close()
        release()
    }

    /// Lets go of the entry: records what is held, and removes an entry of which nothing is.
    ///
    /// - Throws: ``StoreError``; the lease is given back all the same.
    public func close() async throws {
        // The delivery of a small file has no row to come back to.
        if isDelivering { await withCheckedContinuation { onDelivered.append($0) } }
        guard !isClosed else { return }
        defer { release() }
        isClosed = true
        readable.close()
        // Once it is let go, what is removed for it could be this.
        try? await makingRoom?.value
        // What these failed with shows in the checkpoint, or was told before.
        let isSound = (try? await sync.finish()) != nil
        if !isClaimed {
            guard isSound, held > 0 || hasAllBytes else { return }
            try claim()
        }
        try checkpoint()
        // A clean stop loses nothing to a later power cut.
        if receivedBytes > 0 { try? await synchronize() }
        // A sync that became due meanwhile: after this call nothing more is written for this transfer.
        try? await sync.finish()
        guard receivedBytes == 0, !hasAllBytes, !entry.isPinned else { return }
        let entry = entry
        let blobs = try await store.write { connection in try connection.remove(entry) }
        try store.removeBlobs(blobs)
    }
}

extension Reason {
    static let gapNotCompared = Reason(
        code: .init(rawValue: "gap-not-compared"),
        text:
            "the server's responses end at a gap in the partial data, so the bytes after the gap cannot be compared")
}
