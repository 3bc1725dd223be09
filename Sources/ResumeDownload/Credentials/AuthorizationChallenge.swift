public import HTTPTypes
public import ResumeHTTP

/// A response that refuses a request for lack of credentials or of a valid URL.
public struct AuthorizationChallenge: Sendable {
    /// The key of the download in the store.
    package var key: String
    /// The requested URL.
    public var url: DownloadURL
    /// 401, 403, 404, 407, 410 or 451.
    public var status: Int
    /// The header fields of the response, such as `WWW-Authenticate`.
    public var responseFields: HTTPFields
}

/// The URL and header fields for further requests.
public struct RefreshedRequest: Sendable {
    package var url: DownloadURL?
    package var headerFields: HTTPFields?
    package var secretHeaderFields: Set<HTTPField.Name>

    /// Makes a refreshed request.
    ///
    /// - Parameters:
    ///   - url: The new URL, such as a newly signed one; nil to keep the old one.
    ///   - headerFields: The complete header fields; nil to keep the old ones. If they are kept and the URL has another
    ///     origin, secret fields are dropped.
    ///   - secretHeaderFields: Further names of fields that must not be sent to other origins than the URL's.
    public init(
        url: DownloadURL? = nil, headerFields: HTTPFields? = nil, secretHeaderFields: Set<HTTPField.Name> = []
    ) {
        self.url = url
        self.headerFields = headerFields
        self.secretHeaderFields = secretHeaderFields
    }
}
