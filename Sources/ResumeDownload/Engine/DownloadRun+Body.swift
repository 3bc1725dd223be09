import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// The body of a response, over one connection or several.
extension DownloadRun {
    mutating func move(
        _ body: any ResponseBody, of head: HTTPResponse, _ verdict: Verdict, from start: Int64,
        budget: inout RetryBudget
    ) async throws -> RequestOutcome {
        // Who reads from memory compares the digest.
        if case .unknown = digest.known, !transfer.isInMemory, let algorithm = await expectedDigest?.algorithm {
            digest.known = .running(RunningDigest(algorithm, of: await transfer.heldBytes))
        }
        let contentDigest = HTTPDigest(contentDigestIn: head.headerFields)
        var pump = BodyPump(body: body, request: request, digest: digest.running, contentDigest: contentDigest)
        if let comparison = names.comparison {
            // Held bytes are compared too, and in order.
            connections = 1
            pump.compare = { [bytes = await transfer.heldBytes] in try comparison.advance(to: $0, of: bytes) }
        }
        let transfer = transfer
        let outcome: RequestOutcome
        // A body that turns out to be wrong at its end must be discarded alone, which is only possible with a single
        // stream.
        if connections > 1, contentDigest == nil, let terms = await SegmentedBody.Terms(of: transfer) {
            digest.course.isOfOneResponse = false
            let before = await transfer.receivedBytes
            var body = SegmentedBody(run: self, terms: terms, budget: budget)
            let ended = await reportingProgress { await body.run(with: pump) }
            budget = ended.budget
            outcome = try await finish(ended, before: before)
        } else {
            let isUnknown = verdict.continuation?.representation.completeLength == nil
            let ended = await reportingProgress {
                await pump.run(into: transfer.main, isCloseDelimited: head.isCloseDelimited && isUnknown)
            }
            outcome = try await finish(ended, from: start)
        }
        history.goesOn = false
        if case .body(let received, let failure) = outcome, received > 0 {
            (history.renewals, history.goesOn) = (0, failure == nil)
        }
        return outcome
    }

    /// Ends a body that was received over one connection.
    private mutating func finish(_ ended: BodyPump.Outcome, from start: Int64) async throws -> RequestOutcome {
        count(ended.bytes)
        // A later response may send the length.
        isLengthVerified = ended.ending != .closeDelimited
        switch ended.failure {
        case let error as StoreError where error.code == .heldBytesDiffer:
            return .discard(Reason(error))
        case let error as StoreError where error.code != .surplusBytes:
            throw error
        case let error as DownloadError:
            throw error
        default: break
        }
        if !ended.matchesContentDigest {
            // The body is discarded; bytes stored before it are kept.
            digest.known = .unknown
            try await transfer.rewind(to: start, reason: .contentDigestMismatch)
            if ended.failure is CancellationError { throw CancellationError() }
            return .body(received: 0, failure: ResponseFailure(.contentDigestMismatch))
        }
        do {
            _ = try await transfer.finishBody(ended.ending)
        } catch let outcome as RequestOutcome {
            // The body was given up: what it continued goes on, or what it was to replace.
            digest.known = .unknown
            throw outcome
        }
        if ended.failure is CancellationError { throw CancellationError() }
        let held = await transfer.partial.length
        forgetDigest(beyond: held)
        return .body(received: max(held - start, 0), failure: ended.failure)
    }

    /// Ends the bodies that were received over several connections; `before` is the number of bytes stored before them.
    private mutating func finish(_ ended: SegmentedBody.Outcome, before: Int64) async throws -> RequestOutcome {
        count(ended.bytes)
        connections = ended.connections
        do {
            _ = try await transfer.endBody(ended.first)
        } catch {
            throw ended.failure ?? error
        }
        forgetDigest(beyond: await transfer.partial.length)
        switch ended.failure {
        case let error as StoreError where error.code == .heldBytesDiffer:
            return .discard(Reason(error))
        case let error?: throw error
        case nil: break
        }
        try Task.checkCancellation()
        let received = max(await transfer.receivedBytes - before, 0)
        return .body(received: received, failure: ended.interruption.map { ResponseFailure($0) })
    }

    /// Discards the running digest beyond the stored bytes: the end of a body that was not compared with the bytes
    /// behind it is requested again, and may differ.
    private mutating func forgetDigest(beyond held: Int64) {
        if digest.running?.reaches(beyond: held) == true { digest.known = .unknown }
    }

    mutating func read(_ count: Int, from body: any ResponseBody) async throws -> [UInt8] {
        let received = Mutex<[UInt8]>([])
        let monitor = StallMonitor(for: request)
        let pace = RatePace(request.rateLimiters)
        do {
            let isSurplus = try await monitor.watching(body) {
                try await withCancellation {
                    try await monitor.read(body) { bytes in
                        _ = pace.allowsMore(after: bytes.byteCount)
                        return received.withLock { received in
                            received.append(bytes)
                            return received.count <= count
                        }
                    }
                } onCancel: {
                    body.cancel()
                }
            }
            if isSurplus { body.cancel() }
        } catch let error as TransportError {
            throw try await outcome(of: error, asksForRange: true)
        }
        try await pace.wait()
        let bytes = received.withLock { Array($0.prefix(count)) }
        self.count(Int64(bytes.count))
        return bytes
    }
}
