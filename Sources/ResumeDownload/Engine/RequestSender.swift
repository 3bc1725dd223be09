import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeStore

/// Sends the requests of a download and follows redirects.
struct RequestSender {
    typealias Reply = (response: FetchResponse<any ResponseBody>, route: Route)

    /// The redirects that led to a response.
    struct Route {
        var redirection: Redirection
        /// Whether one of the requests was sent without TLS.
        var isPlain = false
    }

    /// URL and fields may be renewed.
    var request: DownloadRequest
    let transport: any Transport
    /// Whether redirects may lead from https to http: the caller's digest proves the file before anyone gets a byte.
    var permitsDowngrade = false
    /// The cookies that servers set, for all requests.
    let cookies = CookieJar()
    /// Whether the URL is still at the origin that the caller's certificate is for.
    var presentsCertificate = true

    /// Sends a request and follows redirects; each request has the range and the condition.
    func send(
        _ plan: Plan, method: HTTPRequest.Method = .get, by route: Route? = nil
    ) async throws -> Reply {
        var redirection = route?.redirection ?? Redirection(from: request.url)
        redirection.beginAgain()
        redirection.permitsDowngrade = permitsDowngrade
        redirection.most = request.mostRedirects
        var isPlain = route?.isPlain ?? false
        while true {
            isPlain = isPlain || redirection.url.scheme == "http"
            guard request.permits?(redirection.url) ?? true else {
                throw DownloadError(.refused, .notPermitted(redirection.url))
            }
            let origin = redirection.url.origin
            let now = request.waitClock.now()
            if let end = request.origins?.with(origin, { $0.closure(at: now) }) {
                throw RequestOutcome.closed(origin, until: end)
            }
            let message = message(for: plan, method: method, at: redirection)
            let response: TransportResponse
            do {
                response = try await CookieJar.$current.withValue(cookies) {
                    try await CookieJar.$isAtCallersOrigin.withValue(presentsCertificate && redirection.isAtFirstOrigin)
                    {
                        try await transport.send(message, timeout: request.boundedStallTimeout)
                    }
                }
            } catch var error as TransportError where error.code == .tls {
                error.untrustedOrigin = origin
                throw error
            }
            do {
                guard try redirection.follow(response.head) else {
                    let head = named(response.head, at: redirection.url)
                    var last = FetchResponse(head: head, body: response.body, url: redirection.url)
                    last.trust = isPlain ? .plain : response.trust ?? .verified
                    return (last, Route(redirection: redirection, isPlain: isPlain))
                }
            } catch {
                response.body.cancel()
                throw DownloadError(
                    .refused, .redirect(error, from: redirection.url.host), status: response.head.status.code,
                    cause: error)
            }
            response.body.cancel()
        }
    }

    /// Names the file like the URL that a redirect led to, if the server may name it and does not.
    private func named(_ head: HTTPResponse, at url: DownloadURL) -> HTTPResponse {
        guard request.usesServerFilename, url != request.url, let name = url.lastPathComponent,
            Representation(fields: head.headerFields).suggestedFilename == nil
        else { return head }
        var head = head
        head.headerFields[.contentDisposition] = "attachment; filename*=UTF-8''\(PercentEncoding.encoded(name.utf8))"
        return head
    }

    private func message(for plan: Plan, method: HTTPRequest.Method, at redirection: Redirection) -> HTTPRequest {
        let url = redirection.url
        var fields = redirection.permitted(request.headerFields, secret: request.secretHeaderFields)
        // Most requests have no fields, in which each look for a name takes long.
        let hasFields = !fields.isEmpty
        func lacks(_ name: HTTPField.Name) -> Bool { !hasFields || !fields.contains(name) }
        var own: [HTTPField] = []
        if lacks(.userAgent) { own.append(HTTPField(name: .userAgent, value: "resume-store")) }
        if lacks(.accept) { own.append(HTTPField(name: .accept, value: "*/*")) }
        // A server may name a user and password for the place on it that it redirects to.
        let credentials = redirection.isAtFirstOrigin ? url.credentials ?? request.url.credentials : nil
        if lacks(.authorization),
            let value = request.authorization?(url, credentials) ?? credentials.map(DownloadURL.basicAuthorization)
        {
            own.append(HTTPField(name: .authorization, value: value))
        }
        // The caller's digest takes precedence over the server's.
        if request.digest == nil, let name = HTTPField.Name.wantReprDigest, lacks(name) {
            own.append(HTTPField(name: name, value: "sha-256=10, sha-512=5"))
        }
        if hasFields { for name in Plan.ownedFieldNames { fields[name] = nil } }
        if case .whole = plan {
            if method == .get, let condition = request.deliveredFile?.condition { own.append(condition) }
        } else {
            own += plan.fields
        }
        for field in own where field.name != .acceptEncoding { fields.append(field) }
        fields.append(HTTPField(name: .acceptEncoding, value: request.acceptEncoding))
        return HTTPRequest(
            method: method, scheme: url.scheme, authority: url.authority, path: url.requestTarget, headerFields: fields)
    }
}
