import ResumeHTTP
import ResumeSQLite

/// How a body and a transfer end.
extension Transfer {
    /// How the body of a response ended.
    public enum BodyEnding: Sendable, Hashable {
        /// The body ended at its announced length, or with its last chunk.
        case whole
        /// The body ended with the connection. Without a length or chunks, this is either the end or an interruption.
        case closeDelimited
        /// The body ended early, or was not read completely.
        case cut
    }

    /// Implements ``endBody(_:)``.
    ///
    /// - Parameter ending: How the body ended.
    /// - Returns: Whether every byte is stored now.
    /// - Throws: ``StoreError``; an error of the request loop if the file is so short that the response is not believed.
    package func finishBody(_ ending: BodyEnding) async throws -> Bool {
        try requireOpen()
        let isAtBorder = main.isAtBorder
        main.bodyEnded()
        let body = main.endBody()
        if let body, body.exceedsFile { try await refuseSurplus(of: body) }
        if let length = body?.completeLength(isCut: ending == .cut), entry.representation?.completeLength == nil {
            try await requireBelievable(length)
            try requireKnown(length)
            try await learnLength(length)
        }
        if body?.hasComparedHeld == true { try await grantAccess() }
        try checkpoint()
        if !segments.isEmpty || entry.chunks.contains(where: { $0.offset == held && $0.length > 0 }) {
            try await goOnAtEnd()
        }
        exchange.bodies.end(at: receivedBytes, isAtBorder: isAtBorder, isCut: ending == .cut)
        if exchange.bodies.asksForWhole { try await note(.gapNotCompared) }
        return isComplete
    }

    /// Whether every byte is stored.
    var hasAllBytes: Bool { blob != nil && partial.hasAllBytes }

    /// Continues at the end of a part that the received bytes have reached, or that several streams have filled.
    private func goOnAtEnd() async throws {
        // A running sync covers the current parts.
        try await synchronize()
        let old = entry
        let current = try await store.read { connection in try connection.entry(id: old.id) }
        guard current?.generation == old.generation else { throw StoreError.superseded }
        try take(current)
        begin(with: blob)
    }

    /// Ends the transfer and lets the next one use the entry.
    ///
    /// - Parameter goes: Whether a store in memory removes the entry if no task waits for it.
    func release(removing goes: Bool = false) {
        disk?.room.end(writer)
        main.stop()
        // The next user of the entry may change the bytes.
        if memory != nil { writer.changeReading { $0.close() } }
        giveBack(entry, blob, goes: goes)
        state = .closed
        earlier.check = nil
        // An open file keeps its disk blocks even if the collector has removed its name.
        for segment in segments { segment.stop() }
        writer.release()
        blob = nil
    }

    /// Releases the entry as it is recorded, without using the database.
    ///
    /// Used if the database is unavailable, since ``close()`` would only wait for it again.
    package func letGo() {
        guard state.isOpen else { return }
        writer.changeReading { $0.close() }
        release()
    }

    /// Closes the transfer: records the stored bytes, or removes the entry if it is empty.
    ///
    /// - Throws: ``StoreError``; the lease is released even then.
    public func close() async throws {
        guard state.isOpen else { return }
        defer { release() }
        state.close()
        writer.changeReading { $0.close() }
        guard memory == nil else { return }
        // The checkpoint reports the errors of these syncs, unless they were reported before.
        try? await writer.finish()
        guard isClaimed else { return }
        try checkpoint()
        // After a clean stop, a later power loss costs nothing.
        if receivedBytes > 0 { try? await synchronize() }
        // A sync may have become due in the meantime. After this call nothing more is written for this transfer.
        try? await writer.finish()
        // The old data has the pin as well.
        let isPinned = entry.isPinned && !(exchange.isRestart && entry.representation == nil)
        guard receivedBytes == 0, !hasAllBytes, !isPinned, entry.objections.sightings == nil else { return }
        let store = try store
        let entry = entry
        let blobs = try await store.write { connection in try connection.remove(entry) }
        try store.folder.remove(blobs)
    }

    /// Protects the entry for a task that intends to continue it, even after this transfer has ended.
    ///
    /// - Returns: The sign; nil if it cannot be created, so that the entry is not protected.
    package var pausedSign: Lease? {
        try? Lease.pausing(entry.id, in: store.folder)
    }

    // MARK: How received bytes are recorded before the end

    /// Records the received bytes, so that they survive the process, and starts a sync to disk if one is due.
    ///
    /// - Throws: ``StoreError``, with `superseded` if another process restarted the download.
    func checkpoint() throws {
        try main.checkpoint()
        for segment in segments { try segment.checkpoint() }
    }

    /// Waits for the running sync, then makes all received bytes survive a power loss.
    func synchronize() async throws {
        try await writer.finish()
        try checkpoint()
        try await writer.finish()
        try await writer.synchronize()
    }
}
