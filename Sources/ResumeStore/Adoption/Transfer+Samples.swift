internal import ResumeFiles
public import ResumeHTTP

/// Bytes that are compared with the server's file by samples.
extension Transfer {
    /// The conditions for resuming.
    public var policy: ResumePolicy {
        guard entry.agreedSamples != nil else { return caller.policy }
        // Adopted bytes are compared with the server's file whether or not it has a validator.
        var policy = caller.policy
        policy.allowsUnvalidated = true
        return policy
    }

    /// The stored ranges that samples are taken from, as offsets in the delivered file.
    package var sampledRanges: [Range<Int64>] { parts.disjoint.extents }

    /// The number of samples that agreed, if the first bytes were received by another program.
    package var agreedSamples: Int? { entry.agreedSamples }

    /// Reads stored bytes to compare them with the server's, whoever they were fetched for.
    ///
    /// - Throws: ``StoreError`` as ``read(_:)``.
    package func sample(_ range: Range<Int64>) async throws -> [UInt8] {
        guard sampledRanges.contains(where: { $0.contains(range) }) else { throw StoreError.notHeld(range) }
        return try await read(range, evenIfWithheld: true)
    }

    /// Records that samples of adopted bytes agree with the server's file, whose representation is now known.
    ///
    /// - Throws: ``StoreError``: `superseded`, `database`.
    package func prove(as representation: Representation, agreedSamples: Int) async throws {
        try requireOpen()
        var representation = representation
        // The digest in the name of an adopted file.
        representation.reprDigest = entry.representation?.reprDigest ?? representation.reprDigest
        let (id, generation, key, held) = (entry.id, entry.generation, entry.key, receivedBytes)
        let (requester, proved) = (requester(for: representation), representation)
        let isCurrent = try await store.write { connection in
            guard
                try connection.prove(
                    id: id, generation: generation, as: proved, for: requester, agreedSamples: Int64(agreedSamples))
            else { return false }
            try connection.record(.resumed, key: key, reason: .samplesAgree(agreedSamples), bytes: held)
            return true
        }
        guard isCurrent else { throw StoreError.superseded }
        (entry.representation, entry.agreedSamples, entry.requester) = (proved, agreedSamples, requester)
        readable.learn(totalLength: entry.totalBytes)
    }
}
