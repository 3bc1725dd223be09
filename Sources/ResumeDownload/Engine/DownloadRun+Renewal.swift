internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// What the caller's hook does about answers that want credentials, or a URL that is still valid.
extension DownloadRun {
    /// The statuses of such answers.
    static let renewable = [401, 403, 407, 451]
    /// How often the hook is asked without progress.
    private static let renewalLimit = 3

    /// Asks the caller for another URL or other fields.
    ///
    /// - Returns: Whether there are any.
    mutating func renew(after response: HTTPResponse) async throws -> Bool {
        guard Self.renewable.contains(response.status.code), renewals < Self.renewalLimit,
            let renewal = request.renewal
        else { return false }
        renewals += 1
        let refusal = Refusal(
            url: request.url, status: response.status.code, responseFields: response.headerFields)
        guard let new = try await renewal(refusal) else { return false }
        if let url = new.url {
            // Secrets that were meant for the old origin are not sent to another one.
            if url.origin != request.url.origin {
                request.fields = Redirection.withoutSecrets(request.fields, secret: request.secretFields)
            }
            request.url = url
        }
        if let fields = new.fields { request.fields = fields }
        await transfer.move(to: request.url, headerFields: request.identityFields)
        request.secretFields.formUnion(new.secretFields)
        return true
    }
}
