public import HTTPTypes

/// Follows redirects: where to go next, and what may be sent there.
///
/// Source: [RFC 9110, 15.4](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.4).
public struct Redirection: Sendable {
    /// How many redirects are followed before it is taken for a loop.
    public static let limit = 20

    /// Where the next request goes.
    public private(set) var url: DownloadURL
    private var followed = 0
    private var hasLeftOrigin = false

    /// Why a redirect is not followed.
    public enum Problem: Error, Sendable, Hashable {
        /// More than ``Redirection/limit`` in a row.
        case tooMany
        /// From https to http.
        case downgrade
        /// No `Location`, or none that can be fetched.
        case badLocation
    }

    /// Begins at the URL that was asked for.
    public init(from url: DownloadURL) {
        self.url = url
    }

    /// Begins at another origin than the caller's secrets are meant for.
    package mutating func leaveOrigin() {
        hasLeftOrigin = true
    }

    /// Takes a response; if it is a redirect that can be followed, ``url`` is the next place.
    ///
    /// - Returns: Whether it was a redirect.
    /// - Throws: ``Problem``.
    public mutating func follow(_ response: HTTPResponse) throws(Problem) -> Bool {
        guard [301, 302, 303, 307, 308].contains(response.status.code) else { return false }
        guard followed < Self.limit else { throw .tooMany }
        guard let location = SingletonField(.location, in: response.headerFields).text,
            let next = try? url.resolving(location)
        else { throw .badLocation }
        guard url.scheme == "http" || next.scheme == "https" else { throw .downgrade }
        if next.origin != url.origin { hasLeftOrigin = true }
        url = next
        followed += 1
        return true
    }

    /// The caller's fields that may be sent to ``url``.
    ///
    /// Credentials stop at the origin they were meant for, and are not taken up again when a redirect leads back.
    ///
    /// - Parameters:
    ///   - fields: The caller's fields.
    ///   - secret: Names that the caller marks as secret, beside the well-known ones.
    /// - Returns: All of them at the first origin, else those that are no secret.
    public func permitted(_ fields: HTTPFields, secret: Set<HTTPField.Name> = []) -> HTTPFields {
        hasLeftOrigin ? Self.withoutSecrets(fields, secret: secret) : fields
    }

    /// The fields that may be sent to any origin.
    package static func withoutSecrets(_ fields: HTTPFields, secret: Set<HTTPField.Name>) -> HTTPFields {
        HTTPFields(fields.filter { !credentials.contains($0.name) && !secret.contains($0.name) })
    }

    /// Whether ``url`` is still at the origin that was asked first.
    public var isAtFirstOrigin: Bool { !hasLeftOrigin }

    private static let credentials: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
}

extension Redirection.Problem: CustomStringConvertible {
    /// What is wrong.
    public var description: String {
        switch self {
        case .tooMany: "more than \(Redirection.limit) redirects"
        case .downgrade: "it leads from https to http"
        case .badLocation: "it has no valid Location"
        }
    }
}
