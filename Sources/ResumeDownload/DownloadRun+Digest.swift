internal import ResumeHTTP
internal import ResumeStore

extension DownloadRun {
    /// Whether what was held before is what was recorded; if not, the damaged part is asked for again.
    mutating func isConfirmed() async throws -> Bool {
        let before = await transfer.receivedBytes
        if try await transfer.confirmHeld() { return true }
        digest = nil
        reused -= min(before - (await transfer.receivedBytes), reused)
        if let damage = await transfer.damage { onEvent(.damaged(reason: damage)) }
        return false
    }

    /// The digest that the whole must have: the caller's, else what the server announced; nil where there is none.
    var expectedDigest: HTTPDigest? {
        get async {
            if let digest = request.digest { return digest }
            // The server's is that of the whole representation.
            guard request.selection == nil else { return nil }
            return HTTPDigest(field: await transfer.partial.representation?.reprDigest)
        }
    }

    /// Whether what is held has the digest that is expected, if one is.
    ///
    /// - Returns: False where it was dropped, to be fetched again: once, and not where one answer alone brought what the
    ///   caller did not ask for, since the next one would bring the same.
    mutating func isAsExpected() async throws -> Bool {
        guard let expected = await expectedDigest else { return true }
        let running: RunningDigest
        if let digest, digest.algorithm == expected.algorithm {
            running = digest
        } else {
            running = RunningDigest(expected.algorithm, of: await transfer.heldBytes)
        }
        let found = try await running.finish(at: await transfer.partial.length)
        if found == expected { return true }
        let reason = request.digest == nil ? Reason.announcedDigestMismatch : .digestMismatch(expected, found)
        digest = nil
        try await transfer.discard(reason: reason)
        reused = 0
        guard !hasRetriedDigest, request.digest == nil || !isOfOneAnswer else {
            throw DownloadError(.digestMismatch, reason)
        }
        hasRetriedDigest = true
        onEvent(.restarted(reason: reason, totalBytes: nil))
        return false
    }
}

extension Reason {
    static func digestMismatch(_ expected: HTTPDigest, _ found: HTTPDigest?) -> Reason {
        Reason(
            code: .init(rawValue: "digest-mismatch"),
            text: "the \(expected.algorithm.rawValue.uppercased()) of the content is "
                + "\(found?.hexadecimal ?? "different"), expected \(expected.hexadecimal); the content was removed")
    }

    static let announcedDigestMismatch = Reason(
        code: .init(rawValue: "announced-digest-mismatch"),
        text: "the content does not match the digest sent by the server (Repr-Digest)")

    static let contentDigestMismatch = Reason(
        code: .init(rawValue: "content-digest-mismatch"),
        text: "the response body does not match the digest sent by the server (Content-Digest)")
}
