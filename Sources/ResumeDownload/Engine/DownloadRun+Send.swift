#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import HTTPTypes
internal import ResumeHTTP
internal import Synchronization

extension DownloadRun {
    /// Asks for the head first where the caller wants that, and compares.
    mutating func check(_ plan: Plan) async throws -> HeadVerdict {
        guard case .range(let range) = plan, range.condition == .head, let validator = range.validator else {
            return .unchanged
        }
        guard headFailures < 2 else { return .unknown(.headFails) }
        headFailures += 1
        let response = try await send(.whole(reason: nil), method: .head, to: request.headURL ?? request.url)
        response.body.cancel(with: CancellationError())
        let verdict = HeadVerdict(for: response.head, validator: validator)
        if case .retry = verdict {} else { headFailures = 0 }
        return verdict
    }

    /// Sends the request of a plan.
    func send(_ plan: Plan) async throws -> TransportResponse {
        try await send(plan, method: .get, to: request.url)
    }

    /// Sends a request and follows redirects; range and condition go along on every hop.
    private func send(_ plan: Plan, method: HTTPRequest.Method, to url: DownloadURL) async throws -> TransportResponse {
        var redirection = Redirection(from: url)
        // Fields and secrets are meant for the origin of the download.
        if url.origin != request.url.origin { redirection.leaveOrigin() }
        while true {
            guard request.permits?(redirection.url) ?? true else {
                throw DownloadError(.refused, .notPermitted(redirection.url))
            }
            let message = message(for: plan, method: method, at: redirection)
            let timeout = request.boundedStallTimeout
            let response = try await Self.withTimeout(seconds: timeout, for: redirection.url.authority) {
                try await transport.send(message)
            }
            do {
                guard try redirection.follow(response.head) else { return response }
            } catch {
                response.body.cancel(with: CancellationError())
                throw DownloadError(
                    .refused, .redirect(error, from: redirection.url.host), status: response.head.status.code,
                    cause: error)
            }
            response.body.cancel(with: CancellationError())
        }
    }

    /// Neither what is wanted nor what must be read before it may be longer than what is allowed.
    func checkLength(of verdict: Verdict, total: Int64?) throws {
        guard request.selection != nil, let limit = request.maximumLength else { return }
        var length = total ?? 0
        switch verdict {
        case .append(let continuation), .startRange(let continuation): length = max(length, continuation.skipped)
        default: break
        }
        if length > limit { throw DownloadError(.tooLarge, .tooLarge(length, limit: limit)) }
    }

    /// The whole must not be longer than what is allowed, as far as the head tells.
    func checkLength(of response: TransportResponse) throws {
        // Of ranges it is the transfer's own length that counts, once it is known.
        guard request.selection == nil, let limit = request.maximumLength, let length = response.announcedLength,
            length > limit
        else { return }
        throw DownloadError(.tooLarge, .tooLarge(length, limit: limit))
    }

    private func message(for plan: Plan, method: HTTPRequest.Method, at redirection: Redirection) -> HTTPRequest {
        let url = redirection.url
        var fields = redirection.permitted(request.fields, secret: request.secretFields)
        if fields[.userAgent] == nil { fields[.userAgent] = "resume-store" }
        if fields[.accept] == nil { fields[.accept] = "*/*" }
        if redirection.isAtFirstOrigin, fields[.authorization] == nil, let credentials = request.url.credentials {
            fields[.authorization] = "Basic \(Data(credentials.utf8).base64EncodedString())"
        }
        for name in Plan.ownedFieldNames { fields[name] = nil }
        for field in plan.fields { fields.append(field) }
        fields[.acceptEncoding] = request.acceptEncoding
        // Where the caller has a digest, that of the server is not looked at.
        if request.digest == nil, let name = HTTPField.Name.wantReprDigest, fields[name] == nil {
            fields[name] = "sha-256=10, sha-512=5"
        }
        return HTTPRequest(
            method: method, scheme: url.scheme, authority: url.authority, path: url.requestTarget, headerFields: fields)
    }

    /// Gives up a request whose head does not come in time.
    private static func withTimeout(
        seconds: Double, for authority: String, _ body: @escaping @Sendable () async throws -> TransportResponse
    ) async throws -> TransportResponse {
        let task = Task { try await body() }
        let isLate = Atomic(false)
        let registration = Ticker.shared.every(.seconds(seconds)) {
            isLate.store(true, ordering: .relaxed)
            task.cancel()
        }
        defer { registration.cancel() }
        do {
            let response = try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
            if !task.isCancelled { return response }
            // An answer that comes at the last moment is not left hanging.
            response.body.cancel(with: CancellationError())
            throw CancellationError()
        } catch {
            guard isLate.load(ordering: .relaxed), !Task.isCancelled else { throw error }
            throw TransportError(.stalled, "\(authority) did not respond within \(seconds) seconds")
        }
    }
}

extension TransportResponse {
    /// The length of the body's file, as far as the head tells.
    var announcedLength: Int64? {
        if case .bytes(_, _, let complete) = ContentRange(in: head.headerFields) { return complete }
        return Representation(fields: head.headerFields).completeLength
    }

    /// Whether only the end of the connection ends the body (RFC 9112, 6.3).
    var isCloseDelimited: Bool {
        guard let coding = head.headerFields[.transferEncoding] else { return head.headerFields[.contentLength] == nil }
        return !coding.lowercased().hasSuffix("chunked")
    }
}
