import HTTPTypes
package import ResumeHTTP

extension RequestClient {
    /// Sends a request for a sample and reads the body of its response, which is empty if the status is not 206.
    package mutating func response(
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

/// Samples of stored bytes that are compared with the server's file, if nothing else proves that it is the same.
extension RequestLoop {
    /// Compares samples of all stored bytes with the server's file.
    ///
    /// It must be the same representation, unless no validator can tell. Changes nothing but what is known of adopted
    /// bytes.
    package mutating func compareAll(_ send: Send) async throws -> SampleVerdict {
        while true {
            try Task.checkCancellation()
            let held = await transfer.partial
            guard let stored = held.representation, !held.isEmpty else { return .unproved(.notProved) }
            let course = await samples(of: transfer.storedRanges, in: stored, isProved: !transfer.needsSamples)
            do {
                return try await compare(course, of: held.length, send)
            } catch let outcome as RequestOutcome {
                if case .askForWhole(let reason) = outcome { return .unproved(reason) }
                try await follow(outcome)
            }
        }
    }

    /// Chooses samples of ranges of a representation, which the server's file must be if that is proved.
    func samples(
        of ranges: [Range<Int64>], in stored: Representation, isProved: Bool, shift: Int64 = 0
    ) async -> SampleCourse {
        SampleCourse(
            SampleGrid(over: ranges, seed: sampleSeed), of: stored, isProved: isProved, policy: await transfer.policy,
            shift: shift)
    }

    /// Requests samples and compares them, until the course ends, and records what they prove.
    mutating func compare(
        _ fresh: SampleCourse, of held: Int64, _ send: Send
    ) async throws -> SampleVerdict {
        // What was compared before a request failed is not requested again.
        var course = if let samples, samples.held == held { samples.course } else { fresh }
        defer { samples = course.next == nil ? nil : (course, held) }
        while let request = course.next {
            let response = try await client.response(to: request, send)
            note(response.head, from: response.url?.origin)
            switch course.receive(response.head, to: request) {
            case .append:
                break
            case .retry(let reason, let seconds):
                throw RequestOutcome.retry(reason, afterSeconds: seconds, status: response.head.status.code)
            case .refuse(let reason):
                throw try await client.refused(by: response.head, nil, because: reason)
            default:
                continue
            }
            if case .ownEntry(let reason) = await transfer.examine(
                response.head, from: response.url, trust: response.trust)
            {
                throw RequestOutcome.askForWhole(reason)
            }
            let received = request.bytes(of: response.body, after: response.head)
            var stored: [UInt8]?
            do {
                if received != nil { stored = try await transfer.sample(request.range) }
            } catch let error as StoreError where error.code == .heldBytesDiffer {
                // These bytes are damaged on disk. They are requested again before the delivery.
            }
            _ = course.compare(request, received, with: stored)
        }
        if !fresh.isProved, case .agree(let count) = course.verdict {
            try await transfer.prove(
                as: course.representation, agreedSamples: count, comparesDigest: client.comparesDigest)
        }
        return course.verdict
    }
}
