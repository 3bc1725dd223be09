package import HTTPTypes

/// Follows redirects, and decides what may be sent to their destinations.
///
/// Source: [RFC 9110, 15.4](https://www.rfc-editor.org/rfc/rfc9110.html#section-15.4).
package struct Redirection: Sendable {
    /// The maximum number of redirects; more are taken for a loop.
    package static let limit = 20

    /// The URL of the next request.
    package private(set) var url: DownloadURL
    private var followed = 0
    /// Whether ``url`` is at the first origin and every redirect so far stayed there; otherwise it must not receive the
    /// caller's secrets.
    package var isAtFirstOrigin = true
    /// How many redirects in a row are followed.
    package var most = Redirection.limit
    /// Whether a redirect may lead from https to http.
    package var permitsDowngrade = false

    /// The reason for not following a redirect.
    package enum Problem: String, Error, CustomStringConvertible {
        /// More redirects in a row than ``Redirection/most``.
        case tooMany = "too-many-redirects"
        /// A redirect from https to http.
        case downgrade = "redirect-to-http"
        /// `Location` is missing, or not a supported URL.
        case badLocation = "bad-location"

        /// The reason, as the end of a sentence.
        package var description: String { sentence(rawValue) }
    }

    /// Begins at the requested URL.
    package init(from url: DownloadURL) {
        self.url = url
    }

    /// Begins another request at the same place, whose redirects are counted anew.
    package mutating func beginAgain() { followed = 0 }

    /// Handles a response.
    ///
    /// If it is a redirect that can be followed, ``url`` becomes its destination.
    ///
    /// - Returns: Whether it was a redirect.
    /// - Throws: ``Problem`` if it is a redirect that must not be followed.
    package mutating func follow(_ response: HTTPResponse) throws(Problem) -> Bool {
        guard [301, 302, 303, 307, 308].contains(response.status.code) else { return false }
        guard followed < most else { throw .tooMany }
        guard let location = response.headerFields.single(.location),
            let next = try? url.resolving(PercentEncoding.encodingRaw(location))
        else { throw .badLocation }
        guard url.scheme == "http" || next.scheme == "https" || permitsDowngrade else {
            throw .downgrade
        }
        if next.origin != url.origin { isAtFirstOrigin = false }
        url = next
        followed += 1
        return true
    }

    /// Returns the caller's fields that may be sent to ``url``.
    ///
    /// Credentials are sent only to the origin they are meant for. They are not sent again if a redirect leads back
    /// there.
    ///
    /// - Parameters:
    ///   - fields: The caller's fields.
    ///   - secret: Names that the caller marks as secret, in addition to the well-known ones.
    /// - Returns: All fields at the first origin, otherwise those that are not secret.
    package func permitted(_ fields: HTTPFields, secret: Set<HTTPField.Name> = []) -> HTTPFields {
        isAtFirstOrigin ? fields : Self.withoutSecrets(fields, secret: secret)
    }

    /// Returns the fields that may be sent to any origin: no secret, and no name of a host.
    package static func withoutSecrets(_ fields: HTTPFields, secret: Set<HTTPField.Name>) -> HTTPFields {
        HTTPFields(fields.filter { !isSecret($0, among: secret) && $0.name.canonicalName != "host" })
    }

    /// Whether a field must neither be stored nor sent to other origins.
    package static func isSecret(_ field: HTTPField, among secret: Set<HTTPField.Name>) -> Bool {
        if credentials.contains(field.name) || secret.contains(field.name) { return true }
        // The address of a page may contain a token.
        guard field.name == .referer else { return false }
        return (try? DownloadURL(field.value))?.hasSecrets ?? DownloadURL.holdsSecret(field.value)
    }

    /// The fields that always contain secrets.
    package static let credentials: Set<HTTPField.Name> = [.authorization, .proxyAuthorization, .cookie]
}
