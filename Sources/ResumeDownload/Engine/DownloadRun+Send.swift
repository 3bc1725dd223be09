import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeStore

extension DownloadRun {
    /// Sends the request of a plan, after a HEAD request if the caller wants one.
    ///
    /// - Throws: A ``RequestOutcome`` if there is no usable response.
    mutating func response(to plan: Plan) async throws -> FetchResponse<any ResponseBody> {
        // A HEAD request does not ask for a range.
        var asksForRange = false
        do {
            let plan = try await checked(plan)
            if case .range = plan { asksForRange = true }
            let first = begun.first.take()?.reply
            let (response, route) = if let first { try await reply(from: first) } else { try await reply(to: plan) }
            // An address that refuses, or fails, may have expired: the next request asks for a new one.
            history.settled = response.head.status.code < 400 || response.head.status.code == 416 ? route : nil
            if history.settled != nil { try await takeDigest(from: response) }
            if let delivered = request.deliveredFile, delivered.condition != nil, case .whole = plan {
                let resource = await transfer.resourceVerdict(on: delivered, from: response.url, response.trust)
                let verdict = DeliveredVerdict(
                    for: response.head, delivered: delivered.representation, isSameResource: resource == .same)
                if verdict != .unknown { response.body.cancel() }
                switch verdict {
                case .unchanged: throw Kept(.unchanged)
                case .contradiction(let reason):
                    throw RequestOutcome.retry(reason, status: 304)
                case .otherResource:
                    // Mirrors take turns, and samples show that this one has the same file. Whatever prevents the
                    // comparison, the file itself can be requested.
                    if case .compareSamples(let reason) = resource, reason != .otherRequest, delivered.stamp.size > 0,
                        (try? await samples(
                            of: Destination(delivered.path ?? destination.path), delivered.stamp.size,
                            delivered.representation)) == .onlySampled
                    {
                        throw Kept(.unchanged)
                    }
                    try Task.checkCancellation()
                    request.deliveredFile?.entityTag = nil
                    request.deliveredFile?.lastModified = nil
                    throw RequestOutcome.askAgain
                case .unknown: break
                }
            }
            return response
        } catch let error as TransportError {
            history.settled = nil
            throw try await outcome(of: error, asksForRange: asksForRange)
        }
    }

    /// Takes the digest of the names that a response gives the file.
    private mutating func takeDigest(from response: FetchResponse<any ResponseBody>) async throws {
        guard request.digest == nil, let digest = request.digestNamed else { return }
        let sent = Representation(fields: response.head.headerFields)
        let held = await transfer.partial.representation
        let names = [sent.suggestedFilename, held?.suggestedFilename, response.url?.lastPathComponent]
        do {
            request.digest = try digest(names.compactMap(\.self))
        } catch {
            response.body.cancel()
            throw error
        }
    }

    /// Decides what follows a failure of the transport.
    func outcome(of error: TransportError, asksForRange: Bool) async throws -> RequestOutcome {
        guard error.isTransient else {
            // A host that has sent bytes had a name, and may have it again.
            if error.isUnknownHost, await !transfer.partial.isEmpty {
                return .body(received: 0, failure: error)
            }
            throw DownloadError(.refused, .transport(error), cause: error)
        }
        // Some servers break the rules of HTTP only in responses to range requests.
        guard asksForRange, error.code == .invalidResponse else { return .body(received: 0, failure: error) }
        let reason = Reason.rangeResponseInvalid(error)
        try await transfer.note(reason)
        return .askForWhole(reason)
    }

    /// Compares the validator with that of a HEAD response if the plan's condition requires it.
    private mutating func checked(_ plan: Plan) async throws -> Plan {
        guard case .range(let range) = plan, range.condition == .head, let validator = range.validator else {
            return plan
        }
        var verdict = HeadVerdict.unknown(.headFails)
        if history.headFailures < 2 {
            history.headFailures += 1
            var start = Redirection(from: request.headURL ?? request.url)
            // Fields and secrets belong to the origin of the download.
            if start.url.origin != request.url.origin { start.isAtFirstOrigin = false }
            let (response, route) = try await send(
                .whole(reason: nil), method: .head, by: RequestSender.Route(redirection: start))
            response.body.cancel()
            request.origins?.close(
                route.redirection.url.origin, asAskedBy: response.head, on: request.waitClock)
            verdict = HeadVerdict(for: response.head, validator: validator)
            if case .retry = verdict {} else { history.headFailures = 0 }
        }
        switch verdict {
        case .unchanged: return plan
        case .unknown(let reason):
            try await transfer.note(reason)
            return plan.conditional
        case .changed(let reason): throw RequestOutcome.askForWhole(reason)
        case .retry(let reason, let seconds):
            throw RequestOutcome.retry(reason, afterSeconds: seconds)
        }
    }

    /// Sends a request to the address that answered first, or if that refuses it, to the URL of the download.
    func reply(to plan: Plan) async throws -> RequestSender.Reply {
        if let settled = history.settled {
            let (response, route) = try await send(plan, by: settled)
            guard settled.redirection.url != request.url, (400..<500).contains(response.head.status.code),
                ![412, 416, 429].contains(response.head.status.code)
            else { return (response, route) }
            response.body.cancel()
        }
        return try await send(plan)
    }

    private func send(
        _ plan: Plan, method: HTTPRequest.Method = .get, by route: RequestSender.Route? = nil
    ) async throws -> RequestSender.Reply {
        try await reply(from: await Result { try await sender.send(plan, method: method, by: route) })
    }

    /// Returns a reply; a certificate that is not trusted is a failure for now where another one was.
    private func reply(from result: Result<RequestSender.Reply, any Error>) async throws -> RequestSender.Reply {
        do {
            return try result.get()
        } catch var error as TransportError {
            let origin = error.untrustedOrigin.take()
            guard let origin, try await transfer.hasTrusted(origin) else { throw error }
            throw RequestOutcome.retry(.certificateChanged(error))
        }
    }
}

extension HTTPResponse {
    /// The complete length of the representation; nil if the head does not contain it.
    var announcedLength: Int64? {
        if case .bytes(_, _, let complete) = ContentRange(in: headerFields) { return complete }
        return Representation.length(headerFields)
    }

    /// Whether the end of the connection ends the body (RFC 9112, 6.3).
    var isCloseDelimited: Bool {
        guard let coding = headerFields[.transferEncoding] else {
            return headerFields[.contentLength] == nil
        }
        return !coding.lowercased().hasSuffix("chunked")
    }
}

extension DeliveredFile {
    /// What is known of the file's representation.
    var representation: Representation {
        Representation(
            entityTag: entityTag.flatMap { EntityTag($0) }, lastModified: lastModified, completeLength: stamp.size)
    }

    /// The field of a request that is answered with 304 if the server still has this file; nil without a validator.
    var condition: HTTPField? {
        // Byte for byte, as in If-Range.
        if let entityTag { return HTTPField(name: .ifNoneMatch, value: entityTag) }
        return lastModified.map { HTTPField(name: .ifModifiedSince, value: $0) }
    }
}

/// Responses that ask for credentials or for a URL that is still valid.
extension DownloadRun {
    /// The status codes of such responses.
    private static let forbidden = [401, 403, 407, 451]
    /// The status codes after which the caller is asked for another URL.
    ///
    /// Some servers do not distinguish an expired URL from one that never existed.
    static let renewable = forbidden + [404, 410]
    /// How often the caller's hook is called without progress.
    private static let renewalLimit = 3

    mutating func refused(
        by head: HTTPResponse, _ body: (any ResponseBody)?, because reason: Reason
    ) async throws -> RequestOutcome {
        if try await renew(after: head) { return .askAgain }
        let keepsData = await !transfer.partial.isEmpty && !transfer.isInMemory
        let isForbidden = Self.forbidden.contains(head.status.code) && keepsData
        throw DownloadError(.refused, isForbidden ? .forbidden(reason) : reason, status: head.status.code)
    }

    mutating func renew(after response: HTTPResponse) async throws -> Bool {
        guard Self.renewable.contains(response.status.code), history.renewals < Self.renewalLimit,
            let renewal = request.refresh
        else { return false }
        history.renewals += 1
        let refusal = AuthorizationChallenge(
            key: transfer.key, url: request.url, status: response.status.code, responseFields: response.headerFields)
        // The caller's code and its actors must not run on the queue of this transfer.
        let renewed = try await withTaskExecutorPreference(globalConcurrentExecutor) { try await renewal(refusal) }
        guard let new = renewed else { return false }
        if let url = new.url {
            guard url.scheme == "https" || request.url.scheme == "http" else {
                throw DownloadError(.refused, .renewedToHTTP(url), status: response.status.code)
            }
            // Secrets of the old origin are not sent to another one.
            if url.origin != request.url.origin {
                request.headerFields = Redirection.withoutSecrets(
                    request.headerFields, secret: request.secretHeaderFields)
                sender.presentsCertificate = false
            }
            request.url = url
            history.settled = nil
        }
        if let fields = new.headerFields { request.headerFields = fields }
        await transfer.move(to: request.url, headerFields: request.identityFields)
        request.secretHeaderFields.formUnion(new.secretHeaderFields)
        connections = request.boundedConnections
        return true
    }
}
