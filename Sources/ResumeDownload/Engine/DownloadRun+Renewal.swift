import HTTPTypes
import ResumeHTTP
import ResumeStore

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
        if try await renews(after: head) { return .renewed }
        let keepsData = await !transfer.partial.isEmpty && !transfer.isInMemory
        let isForbidden = Self.forbidden.contains(head.status.code) && keepsData
        throw DownloadError(.refused, isForbidden ? .forbidden(reason) : reason, status: head.status.code)
    }

    mutating func renews(after response: HTTPResponse) async throws -> Bool {
        guard Self.renewable.contains(response.status.code), renewals < Self.renewalLimit,
            let renewal = request.refresh
        else { return false }
        renewals += 1
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
            }
            request.url = url
            settled = nil
        }
        if let fields = new.headerFields { request.headerFields = fields }
        await transfer.move(to: request.url, headerFields: request.identityFields)
        request.secretHeaderFields.formUnion(new.secretHeaderFields)
        connections = request.boundedConnections
        return true
    }
}
