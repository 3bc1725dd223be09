import ResumeFiles
package import ResumeHTTP

/// Compares stored bytes with their checksums before they leave the store.
extension Transfer {
    /// Throws if bytes that were stored before this transfer do not match their checksums, or if the complete file does
    /// not have the digest that the caller names.
    func requireVerified() async throws {
        guard let damage = try await damageOfHeld() else { return try await requireDigest() }
        throw StoreError(.heldBytesDiffer, Reason("damage-removed", with: damage.text))
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

    // MARK: Whether the stored bytes are known to belong to one representation

    /// False if responses were combined without a validator and no digest that proves the whole file is compared.
    package var isProved: Bool {
        get async {
            if policy.hasProof { return true }
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
        return events[start...].contains { $0.reason.code == .resumedUnvalidated }
    }

    // MARK: Bytes that are compared with the server's file by samples

    /// The conditions for resuming.
    package var policy: ResumePolicy {
        guard entry.agreedSamples != nil else { return caller.conditions }
        // Adopted bytes are compared with the server's file whether or not it has a validator.
        var policy = caller.conditions
        policy.allowsUnvalidated = true
        return policy
    }

    /// Whether the stored bytes were received from another URL, whose validators say nothing about this one.
    ///
    /// A validator identifies a representation of one resource only (RFC 9110, 8.8.1): at another origin or path the same
    /// one may stand for other bytes. Before the first response, the requested URLs are compared.
    var isMoved: Bool {
        if policy.hasProof { return false }
        if exchange.isOfOther { return true }
        guard caller.provenance == nil || exchange.isRenewed, entry.url != caller.url.redacted, receivedBytes > 0,
            let old = try? DownloadURL(entry.url)
        else {
            return false
        }
        let path = { (url: DownloadURL) in url.requestTarget.prefix { $0 != "?" } }
        return old.origin != caller.url.origin || path(old) != path(caller.url)
    }

    /// Whether no validator can prove the bytes: they were received by another program, or from another URL.
    var needsSamples: Bool { partial.isUnproved || isMoved }

    /// What is stored, and what proves it.
    var stored: DownloadMachine.Stored {
        guard needsSamples, !passesOn else {
            return DownloadMachine.Stored(partial, in: [], provedBy: passesOn ? .hash : .representation, policy: policy)
        }
        return DownloadMachine.Stored(
            partial, in: storedRanges, provedBy: .samples(isAdopted: isAdopted, isMarked: isMarked), policy: policy)
    }

    /// Whether the bytes were received by another program and not compared yet.
    var isAdopted: Bool { entry.agreedSamples == 0 }

    /// The number of samples that agreed, if the first bytes were received by another program.
    package var agreedSamples: Int? { entry.agreedSamples }

    /// Reads stored bytes to compare them with the server's, whoever they were fetched for.
    ///
    /// - Throws: ``StoreError`` as ``read(_:)``.
    func sample(_ range: Range<Int64>) async throws -> [UInt8] {
        guard storedRanges.contains(where: { $0.contains(range) }) else { throw StoreError.notHeld(range) }
        return try await read(range, evenIfWithheld: true)
    }

    /// Records that samples of bytes that were adopted, or received from another URL, agree with the server's file,
    /// whose representation is now known.
    ///
    /// - Parameters:
    ///   - representation: The server's file.
    ///   - agreedSamples: The number of samples.
    ///   - comparesDigest: Whether the complete file will be compared with the server's digest, if that has sent one, so
    ///     that the samples need not prove it.
    /// - Throws: ``StoreError``: `superseded`, `database`.
    func prove(as representation: Representation, agreedSamples: Int, comparesDigest: Bool) async throws {
        try requireOpen()
        var proved = representation
        // A field without a usable digest is none. The digest in the name of an adopted file counts as the server's if
        // it is part of the entity tag.
        let named = entry.representation?.reprDigest
        let isAnnounced = HTTPDigest(field: proved.reprDigest) != nil
        if !isAnnounced { proved.reprDigest = named }
        let isConfirmed = comparesDigest && (isAnnounced || proved.isTagged(with: HTTPDigest(field: named)))
        let agreed = isConfirmed ? nil : agreedSamples
        let old = entry
        let held = receivedBytes
        let requester = requester(for: proved)
        let url = caller.url.redacted
        let isCurrent = try await disk?.write { [proved] connection in
            let isCurrent = try connection.prove(
                old, as: proved, for: requester, url: url, agreedSamples: agreed.map { Int64($0) })
            guard isCurrent else { return false }
            try connection.record(.resumed, key: old.key, reason: .samplesAgree(agreedSamples), bytes: held)
            return true
        }
        guard isCurrent != false else { throw StoreError.superseded }
        entry.content?.representation = proved
        entry.content?.agreedSamples = agreed
        entry.requester = requester
        entry.url = url
        // The server sends these bytes to this caller.
        access = .granted
        exchange.resource = .same
        for index in entry.chunks.indices { entry.content?.chunks[index].mark = nil }
        (blob as? MemoryBlob)?.owner = caller.identity
        writer.grant()
        writer.changeReading { $0.totalLength = entry.totalBytes }
    }
}
