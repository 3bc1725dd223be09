import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// Stored bytes that another representation may replace.
extension Transfer {
    /// Starts over because the caller requests that: it believes what the server sends.
    package func restart() async throws {
        exchange.isRestart = true
        if !partial.isEmpty { try await startBeside(because: .restartRequested) }
    }

    /// Continues without the stored bytes, which stay until their replacement is delivered.
    ///
    /// - Parameters:
    ///   - reason: Why they are not wanted.
    ///   - forgetsLength: Whether their length is only where a connection ended, so that it contradicts nothing.
    /// - Throws: ``StoreError``
    package func startBeside(because reason: Reason, forgetsLength: Bool = false) async throws {
        let key = entry.key
        let bytes = receivedBytes
        // The other program's file still has bytes that no sample has confirmed.
        guard !isAdopted, try await leaveReplaced() else { return try await discard(reason: reason) }
        if forgetsLength {
            exchange.left?.length = 1
            exchange.left?.representation?.completeLength = nil
        }
        // From now on, the old entry is the first that is removed if space is needed.
        try await setRequester(requester(for: nil), url: caller.url.redacted)
        try await disk?.record(.restarted, key: key, reason: reason, bytes: bytes)
    }

    /// Leaves the stored bytes in their entry until their replacement is delivered, and continues beside them.
    ///
    /// Bytes without a validator, which nothing can continue, are kept once only.
    ///
    /// - Returns: Whether they are kept.
    func leaveReplaced() async throws -> Bool {
        guard let disk, access != .foreign, receivedBytes > 0 else { return false }
        try claim()
        let old = entry
        let name = key
        let left = partial
        let isFirst = try await disk.read { connection in
            try connection.variants(of: name).allSatisfy {
                $0.id == old.id || $0.requester.code != old.requester.code
            }
        }
        guard isFirst || old.representation?.validator != nil else { return false }
        // All of them stay, also those for which a commit was due later.
        try checkpoint()
        do {
            try await takeOwnVariant()
            exchange.left = left
        } catch let error as StoreError where error.code == .inUse {
            // All variants are in use or pinned: the replacement takes the place of the old bytes.
            return false
        }
        guard old.isPinned else { return true }
        try await set("pinned", to: true)
        entry.isPinned = true
        return true
    }

    /// Continues with older bytes of the representation that the server sends now, if they are stored.
    ///
    /// - Returns: Whether there are any, so that the rest of them is requested.
    func goesBack(after response: HTTPResponse) async throws -> Bool {
        guard let disk, isClaimed, access != .foreign, !partial.isEmpty, !exchange.isRestart,
            response.status == .ok || response.status == .partialContent,
            let validator = Representation(announcedBy: response).validator,
            validator != entry.representation?.validator
        else { return false }
        let policy = policy
        let wentBack = try await goBack {
            $0.validator == validator && policy.accepts(coding: $0.contentCoding)
        }
        guard wentBack else { return false }
        access = .unconfirmed
        try await disk.record(.resumed, key: entry.key, reason: .olderVersion, bytes: receivedBytes)
        return true
    }

    /// Gives up a body whose length, now that it has ended, contradicts what it was to replace.
    ///
    /// - Parameter length: The length.
    /// - Throws: ``RequestOutcome`` if it does; ``StoreError``.
    func requireBelievable(_ length: Int64) async throws {
        guard let context = exchange.doubt.take(), let replaced = context.replaced, var fresh = entry.representation
        else {
            return
        }
        fresh.completeLength = length
        guard let contradiction = Verdict.contradiction(of: fresh, with: replaced, in: context) else { return }
        let reason = contradiction.reason(in: context)
        let refused = entry
        if let disk, try await goBack({ $0 == replaced.representation }) {
            try disk.folder.remove(try await disk.write { connection in try connection.remove(refused) })
            access = replaced.access
            if access == .granted, !isMarked { writer.grant() }
            try await note(reason)
        } else {
            try await discard(reason: reason)
        }
        try await setSightings(Sightings(of: fresh, on: context.day, after: entry.objections.sightings))
        throw RequestOutcome.retry(reason, status: 200)
    }

    /// Throws if the file has another length than the caller knows, which a response without a length shows at its end.
    ///
    /// The bytes stay, and are not complete.
    func requireKnown(_ length: Int64) throws(DownloadError) {
        guard let expected = policy.completeLength, expected != length else { return }
        throw DownloadError(.refused, Reason("other-length", with: length, expected))
    }

    /// Gives up a body that goes on behind the known length of the file, as one without a length can.
    func refuseSurplus(of body: BodyCourse) async throws {
        let end = body.end ?? body.position
        let contradiction = Contradiction.tag(from: end, to: end.addingSaturating(body.surplus))
        let reason = contradiction.reason(in: AnswerContext(url: caller.url))
        try await rewind(to: body.compareUntil, reason: reason)
        throw RequestOutcome.retry(reason, status: 200)
    }

    /// Continues with older bytes of the same request, if there are any of a representation.
    ///
    /// - Returns: Whether there are.
    private func goBack(_ isWanted: @escaping @Sendable (Representation) -> Bool) async throws -> Bool {
        guard let disk, isClaimed else { return false }
        let current = entry
        let name = key
        let folder = disk.folder
        let older: Fresh? = try await disk.read { connection in
            for variant in try connection.variants(of: name) where variant.id != current.id {
                guard variant.requester.code == current.requester.code,
                    let entry = try connection.entry(id: variant.id), entry.representation.map(isWanted) == true,
                    entry.receivedBytes > 0, let lease = try Lease.take(variant.id, in: folder)
                else { continue }
                return Fresh(entry: entry, lease: lease)
            }
            return nil
        }
        guard let older else { return false }
        try checkpoint()
        try? await writer.finish()
        guard let recovered = try await TransferOpener(disk).recover(older.entry, showing: caller.url.redacted) else {
            return false
        }
        main.stop()
        _ = state.move(to: older.lease)
        entry = recovered.entry
        exchange.left = nil
        earlier.damage = recovered.damage
        exchange.bodies.forget()
        // Before readers are woken: the next response is examined. It may be of another resource, or a digest was refused.
        writer.withhold()
        begin(with: recovered.blob, unread: recovered.unread)
        earlier.count = receivedBytes
        return true
    }
}
