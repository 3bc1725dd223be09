import ResumeFiles
package import ResumeHTTP
import ResumeSQLite

/// Bytes that only a digest of the caller proves.
extension Transfer {
    /// Whether bytes go on only because of the digest that the caller names.
    package var isUnderDigest: Bool {
        (exchange.resource == .underDigest || isMarked) && policy.hasProof && exchange.proved != policy.proof
    }

    /// Whether stored bytes carry the mark of a digest.
    ///
    /// Readers do not get them, since they may be wrong for every caller.
    package var isMarked: Bool { entry.chunks.isMarked(upTo: held) }

    /// Begins a part whose bytes carry the digest as a mark, and withholds all bytes from readers until it proves them.
    func beginMarked() async throws {
        exchange.resource = .underDigest
        writer.withhold()
        guard let mark = policy.proof?.fieldValue, entry.chunks.current?.mark != mark, let blob else { return }
        guard memory == nil else {
            if !isMarked { entry.content?.chunks = Entry.Chunk.inMemory(held) }
            entry.content?.chunks.append(Entry.Chunk(path: "", offset: held, length: 0, durable: 0, mark: mark))
            return
        }
        try claim()
        try checkpoint()
        let part = entry.part(at: held)
        let end = partial.nextHeld?.lowerBound ?? entry.representation?.completeLength
        guard try await insertPart(part, upTo: end, mark: mark) else { throw StoreError.superseded }
        begin(with: blob)
    }

    /// Removes the bytes that only another caller's digest proves, and keeps those before them.
    func dropMarked(because reason: Reason) async throws {
        try? await writer.finish()
        let before = receivedBytes
        let lost = entry.chunks.filter { $0.mark != nil }.heldBytes
        try await reduce(.restarted, reason, lost: lost) { chunks in
            chunks.filter { $0.mark != nil }.reduce(chunks) { $0.removing($1.range) }
        }
        begin(with: blob, givesUp: true)
        earlier.lose(before - receivedBytes)
    }

    /// Records that all bytes have the digest that the caller names, so that readers may have them.
    package func prove(by digest: HTTPDigest) {
        guard digest == policy.digest else { return }
        exchange.proved = digest
        writer.grant()
    }

    /// Continues with a new blob if the stored bytes were found not to have the digest that the caller still names.
    ///
    /// - Parameter isOfOneResponse: Whether one response of this run has brought all bytes, so that they are new.
    /// - Returns: Whether it does.
    /// - Throws: ``StoreError``
    package func insist(unless isOfOneResponse: Bool) async throws -> Bool {
        guard let digest = policy.digest, !isOfOneResponse, try await refusedDigest == digest else {
            return false
        }
        try await note(.digestInsisted)
        try await takeOwnVariant()
        return true
    }

    /// Throws unless the complete file has the digest that the caller names, if it does.
    func requireDigest() async throws {
        guard let digest = policy.digest, exchange.proved != digest, !passesOn else { return }
        let bytes = heldBytes
        let range = 0..<held
        let found = try await Blocking.run { try bytes.digest(digest.algorithm, of: range) }
        guard found == digest else {
            let reason = Reason.digestMismatch(digest, found, Reason.rest(isKept: memory == nil))
            try await refuse(digest, because: reason)
            throw DownloadError(.digestMismatch, reason)
        }
        prove(by: digest)
    }

    /// Returns a check of a delivered file, which others cannot change; nil if no digest is expected.
    func digestCheck(_ digest: HTTPDigest?) -> (@Sendable (OpenFile, _ isWritten: Bool) throws -> Void)? {
        guard let digest = digest ?? policy.digest else { return nil }
        let range = 0..<held
        return { file, isWritten in
            let found = try HeldBytes(blob: file).digest(digest.algorithm, of: range)
            guard found != digest else { return }
            let rest = Reason.rest(isKept: true, isPassedOn: isWritten)
            throw DownloadError(.digestMismatch, .digestMismatch(digest, found, rest))
        }
    }
}

extension [Entry.Chunk] {
    /// Whether bytes carry the mark of a digest; the last part may have grown to an end.
    func isMarked(upTo end: Int64) -> Bool {
        contains { chunk in
            guard chunk.mark != nil else { return false }
            return chunk.length > 0 || end > chunk.offset
        }
    }
}
