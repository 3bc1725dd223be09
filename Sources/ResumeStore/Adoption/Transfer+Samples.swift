import ResumeFiles
package import ResumeHTTP

/// Bytes that are compared with the server's file by samples.
extension Transfer {
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
        if policy.digest != nil { return false }
        if exchange.standing == .moved { return true }
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
        exchange.access = .granted
        exchange.standing = .same
        for index in entry.chunks.indices { entry.content?.chunks[index].mark = nil }
        (blob as? MemoryBlob)?.owner = caller.identity
        writer.grant()
        writer.changeReading { $0.totalLength = entry.totalBytes }
    }
}
