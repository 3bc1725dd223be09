import HTTPTypes
package import ResumeHTTP

extension RequestClient {
    /// Sends a request for a sample and reads the body of its response, which is empty if the status is not 206.
    package mutating func answer(
        to request: SampleRequest, _ send: (inout Self, Plan) async throws -> FetchResponse<Body>
    ) async throws -> FetchResponse<[UInt8]> {
        try Task.checkCancellation()
        let response = try await send(&self, request.plan)
        var bytes: [UInt8] = []
        if response.head.status == .partialContent {
            bytes = try await read(request.length, from: response.body)
        } else {
            cancel(response.body)
        }
        return FetchResponse(head: response.head, body: bytes, url: response.url, trust: response.trust)
    }
}

extension SampleRequest {
    /// Compares a response with other bytes.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - read: Returns the other bytes; nil if they need not be compared.
    /// - Returns: What was found.
    /// - Throws: The error of the closure.
    package func compare(
        _ response: FetchResponse<[UInt8]>, with read: (Range<Int64>) async throws -> [UInt8]?
    ) async throws -> SampleComparison {
        guard let sent = bytes(of: response.body, after: response.head) else { return .missing }
        guard let other = try await read(range),
            let offset = zip(other, sent).enumerated().first(where: { $0.1.0 != $0.1.1 })?.offset
        else { return .same }
        return .differs(at: range.lowerBound &+ Int64(offset))
    }
}

/// Samples of stored bytes that are compared with the server's file, if nothing else proves that it is the same.
extension RequestLoop {
    /// What is compared, and with which representation.
    private struct Comparison {
        var ranges: [Range<Int64>]
        var stored: Representation
        var shift: Int64 = 0
        /// Whether the server's file must be the stored representation.
        var isProved = true
    }

    /// Compares samples before a plan whose bytes nothing else proves.
    ///
    /// - Returns: Whether more is known now, so that another plan must be made.
    /// - Throws: A ``RequestOutcome`` if the plan must not be carried out.
    mutating func compareSamples(before plan: Plan, _ send: Send) async throws -> Bool {
        let held = await client.transfer.partial
        let policy = await client.transfer.policy
        // What is passed on is compared by a hash instead.
        guard !client.transfer.passesOn, let stored = held.representation, !held.isEmpty else { return false }
        var comparison = Comparison(ranges: [], stored: stored)
        let isUnproved = await client.transfer.needsSamples
        // Bytes from another URL, or under a digest, not those of another program.
        let isOwn = await !client.transfer.isAdopted && isUnproved
        if isUnproved {
            comparison.ranges = await client.transfer.storedRanges
            comparison.isProved = false
            guard let shift = held.sampleShift else { return try await giveUp(.samplesUnanswered) }
            comparison.shift = shift
        } else if case .range(let next) = plan, next.validator == nil, !policy.hasDigest, comparedLength != held.length
        {
            // The bytes after that are compared with the response to the plan's request.
            let first = next.first &- next.shift
            let end = next.start &- next.shift
            comparison.ranges = [first..<max(first, end)] + (held.nextHeld.map { [$0] } ?? [])
            comparison.shift = next.shift
        } else {
            return false
        }
        switch try await compare(comparison, of: held.length, send) {
        case .agree:
            comparedLength = held.length
            return isUnproved
        case .differ(let reason) where isOwn: return try await giveUp(reason, for: .otherFile)
        case .unproved(let reason) where isOwn: return try await giveUp(reason)
        case .differ(let reason): throw RequestOutcome.discard(reason)
        case .unproved(let reason):
            try await client.transfer.note(reason)
            throw RequestOutcome.askForWhole(reason)
        }
    }

    /// Gives up bytes that only another caller's digest proves, or requests the whole file beside the stored bytes.
    private mutating func giveUp(_ reason: Reason, for next: Reason? = nil) async throws -> Bool {
        guard await client.transfer.isMarked else {
            try await client.transfer.note(reason)
            throw RequestOutcome.askForWhole(next ?? reason)
        }
        client.gaveUp(try await client.transfer.dropMarked(because: reason), because: reason)
        return true
    }

    /// Compares samples of all stored bytes with the server's file.
    ///
    /// It must be the same representation, unless no validator can tell. Changes nothing but what is known of adopted
    /// bytes.
    package mutating func compareAll(_ send: Send) async throws -> SampleVerdict {
        while true {
            try Task.checkCancellation()
            let held = await client.transfer.partial
            guard let stored = held.representation, !held.isEmpty else { return .unproved(.notProved) }
            let comparison = Comparison(
                ranges: await client.transfer.storedRanges, stored: stored,
                isProved: await !client.transfer.needsSamples)
            do {
                return try await compare(comparison, of: held.length, send)
            } catch let outcome as RequestOutcome {
                if case .askForWhole(let reason) = outcome { return .unproved(reason) }
                try await follow(outcome, of: .whole(reason: nil))
            }
        }
    }

    /// Requests samples and compares them, until the course ends, and records what they prove.
    private mutating func compare(
        _ comparison: Comparison, of held: Int64, _ send: Send
    ) async throws -> SampleVerdict {
        var course: SampleCourse
        if let samples, samples.held == held {
            course = samples.course
        } else {
            let seed = sampleSeed ?? UInt64.random(in: .min ... .max)
            course = SampleCourse(
                SampleGrid(over: comparison.ranges, seed: seed), of: comparison.stored, isProved: comparison.isProved,
                policy: await client.transfer.policy, shift: comparison.shift)
        }
        samples = nil
        while true {
            switch course.next() {
            case .end(let verdict):
                if !comparison.isProved, case .agree(let count) = verdict {
                    try await client.transfer.prove(
                        as: course.representation ?? comparison.stored, agreedSamples: count,
                        comparesDigest: client.comparesDigest)
                }
                return verdict
            case .send(let request):
                do {
                    let response = try await client.answer(to: request, send)
                    note(response.head, from: response.url?.origin)
                    try await take(response, to: request, &course)
                } catch {
                    // What has been compared is not requested again.
                    samples = (course, held)
                    throw error
                }
            }
        }
    }

    private mutating func take(
        _ response: FetchResponse<[UInt8]>, to request: SampleRequest, _ course: inout SampleCourse
    ) async throws {
        switch course.receive(response.head, to: request) {
        case .useless: return
        case .retry(let reason, let seconds):
            throw RequestOutcome.retry(reason, afterSeconds: seconds, status: response.head.status.code)
        case .refuse(let reason): throw try await client.refused(by: response.head, nil, because: reason)
        case .read: break
        }
        if case .ownEntry(let reason) = await client.transfer.examine(
            response.head, from: response.url, trust: response.trust)
        {
            throw RequestOutcome.askForWhole(reason)
        }
        let transfer = client.transfer
        let comparison = try await request.compare(response) { range in
            do {
                return try await transfer.sample(range)
            } catch let error as StoreError where error.code == .heldBytesDiffer {
                // These bytes are damaged on disk. They are requested again before the delivery.
                return nil
            }
        }
        course.compare(request, comparison)
    }
}
