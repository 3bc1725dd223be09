internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// The body of a response, over one connection or with others beside it.
extension DownloadRun {
    /// Moves the body into the store.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - start: How many bytes are held before it.
    /// - Returns: What to do next.
    /// - Throws: What ends the download.
    mutating func readBody(of response: TransportResponse, from start: Int64) async throws -> Step {
        if digest == nil, let algorithm = await expectedDigest?.algorithm {
            digest = RunningDigest(algorithm, of: await transfer.heldBytes)
        }
        let contentDigest = HTTPDigest(contentDigestIn: response.head.headerFields)
        let pump = BodyPump(body: response.body, request: request, digest: digest, contentDigest: contentDigest)
        let transfer = transfer
        // A part that is found to be wrong at its end is given up alone: that is for a single stream.
        if connections > 1, contentDigest == nil, let terms = await SegmentedBody.Terms(of: transfer) {
            isOfOneAnswer = false
            let before = await transfer.receivedBytes
            let body = SegmentedBody(run: self, terms: terms)
            return try await finish(await tellingProgress { await body.run(with: pump) }, before: before)
        }
        let outcome = await tellingProgress {
            await pump.run(into: transfer.main, isCloseDelimited: response.isCloseDelimited)
        }
        return try await finish(outcome, from: start)
    }

    /// Ends what one connection brought, and tells what follows from it.
    private mutating func finish(_ outcome: BodyPump.Outcome, from start: Int64) async throws -> Step {
        count(outcome.bytes)
        if outcome.ending == .closeDelimited, await transfer.partial.representation?.completeLength == nil {
            isLengthVerified = false
        }
        switch outcome.failure {
        case let error as StoreError where error.code == .heldBytesDiffer:
            return .discard(.heldBytesDiffer(error))
        case let error as StoreError where error.code != .surplusBytes:
            throw error
        case let error as DownloadError:
            throw error
        default: break
        }
        if !outcome.matchesContentDigest {
            // The part is of no use; what was held before it stays.
            digest = nil
            try await transfer.rewind(to: start, reason: .contentDigestMismatch)
            if outcome.failure is CancellationError { throw CancellationError() }
            return .ended(received: 0, failure: .contentDigestMismatch)
        }
        _ = try await transfer.endBody(outcome.ending, isDelivered: true)
        if outcome.failure is CancellationError { throw CancellationError() }
        let held = await transfer.partial.length
        forgetDigest(beyond: held)
        let received = max(held - start, 0)
        let failure = outcome.failure.map(Reason.init(for:)) ?? (received > 0 ? nil : .endedEarly)
        return .ended(received: received, failure: failure)
    }

    /// Ends what several connections brought, and tells what follows from it.
    ///
    /// - Parameters:
    ///   - outcome: How they ended.
    ///   - before: How many bytes were held before.
    /// - Returns: What to do next.
    /// - Throws: What ends the download.
    private mutating func finish(_ outcome: SegmentedBody.Outcome, before: Int64) async throws -> Step {
        count(outcome.bytes)
        connections = outcome.connections
        course.budget = outcome.budget
        do {
            _ = try await transfer.endBody(outcome.first)
        } catch {
            throw outcome.failure ?? error
        }
        forgetDigest(beyond: await transfer.partial.length)
        switch outcome.failure {
        case let error as StoreError where error.code == .heldBytesDiffer:
            return .discard(.heldBytesDiffer(error))
        case let error?: throw error
        case nil: break
        }
        try Task.checkCancellation()
        let received = max(await transfer.receivedBytes - before, 0)
        return .ended(received: received, failure: outcome.interruption)
    }

    /// The end of a part that was not compared with what is held behind it comes again, and may be another one.
    private mutating func forgetDigest(beyond held: Int64) {
        if let digest, digest.reaches(beyond: held) { self.digest = nil }
    }
}
