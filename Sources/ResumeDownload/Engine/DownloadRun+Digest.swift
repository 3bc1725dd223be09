import ResumeHTTP
import ResumeStore

extension DownloadRun {
    /// Verifies the bytes that were stored before this run; if some are damaged, they are requested again.
    mutating func isConfirmed() async throws -> Bool {
        let before = await transfer.receivedBytes
        if try await transfer.confirmHeld() { return true }
        digest = nil
        reused -= min(before - (await transfer.receivedBytes), reused)
        if let damage = await transfer.damage { onEvent(.damaged(reason: damage)) }
        return false
    }

    /// The digest that the file must have: the caller's, or else the one that the server announced; nil if there is
    /// none.
    var expectedDigest: HTTPDigest? {
        get async {
            if let digest = request.digest { return digest }
            guard comparesDigest else { return nil }
            return HTTPDigest(field: await transfer.partial.representation?.reprDigest)
        }
    }

    /// Whether the stored bytes match the expected digest, or none is expected.
    ///
    /// - Returns: False if the server must be asked again: for the whole file if the bytes may be wrong, otherwise
    ///   whether it has the same bytes.
    mutating func isAsExpected() async throws -> Bool {
        guard let expected = await expectedDigest else { return true }
        if wrongDigest == nil {
            let running: RunningDigest
            if let digest, digest.algorithm == expected.algorithm {
                running = digest
            } else {
                running = RunningDigest(expected.algorithm, of: await transfer.heldBytes)
            }
            let found = try await running.finish(at: await transfer.partial.length)
            if found == expected {
                await transfer.prove(by: expected)
                return true
            }
            digest = nil
            wrongDigest = found ?? expected
        }
        // Samples do not prove that the server has exactly these bytes.
        let partial = await transfer.partial
        let samples = await transfer.agreedSamples
        let isProved = partial.representation?.validator != nil && samples == nil
        // What carries the mark is set aside: another digest may prove it. The next attempt begins a new blob.
        if request.digest != nil, await transfer.isMarked {
            throw try await refusal(of: expected, isKept: !transfer.isInMemory)
        }
        guard request.digest != nil, isProved || isOfOneAnswer else {
            let reason =
                request.digest == nil
                ? (samples == nil ? Reason.announcedDigestMismatch : .namedDigestMismatch)
                : .digestMismatch(expected, wrongDigest, isKept: hasRetriedDigest)
            return try await fetchAgain(because: reason, expected)
        }
        guard hasAnswer else {
            try await transfer.note(.digestToBeConfirmed)
            await transfer.requireAnswer()
            return false
        }
        // The server has exactly these bytes, so the caller's digest is not that of the server's file.
        throw try await refusal(of: expected, isKept: true)
    }

    private func refusal(of expected: HTTPDigest, isKept: Bool) async throws -> DownloadError {
        let reason = Reason.digestMismatch(expected, wrongDigest, isKept: isKept)
        try await transfer.refuse(expected, because: reason)
        return DownloadError(.digestMismatch, reason)
    }

    /// Fetches the file again beside the stored bytes; throws the second time.
    private mutating func fetchAgain(because reason: Reason, _ expected: HTTPDigest) async throws -> Bool {
        var last = reason
        if request.digest == nil, !transfer.isInMemory {
            last.text += "; nothing was written, and the received file is kept in the store"
        }
        try await transfer.refuse(expected, because: hasRetriedDigest ? last : reason)
        guard !hasRetriedDigest else { throw DownloadError(.digestMismatch, last) }
        try await transfer.startBeside(because: reason, forgetsLength: !isLengthVerified)
        hasRetriedDigest = true
        discarded(because: reason)
        return false
    }

    /// Fetches the file again beside the stored one if the caller insists on a digest that the stored bytes do not
    /// match.
    mutating func fetchesRefusedAgain() async throws -> Bool {
        guard try await transfer.insists(on: isOfOneAnswer) else { return false }
        hasAnswer = false
        discarded(because: .digestInsisted)
        return true
    }
}

extension Reason {
    static let digestToBeConfirmed = Reason("digest-to-be-confirmed")

    static let announcedDigestMismatch = Reason("announced-digest-mismatch")

    static let namedDigestMismatch = Reason("named-digest-mismatch")

    static let contentDigestMismatch = Reason("content-digest-mismatch")
}
