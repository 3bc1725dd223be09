#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// An absolute `http` or `https` URL that can be fetched.
///
/// Source: [RFC 3986](https://www.rfc-editor.org/rfc/rfc3986.html) and
/// [RFC 9110, 4.2](https://www.rfc-editor.org/rfc/rfc9110.html#section-4.2).
public struct DownloadURL: Sendable, Hashable {
    /// `http` or `https`.
    public let scheme: String
    /// The host in lower case; IPv6 addresses are in brackets.
    public let host: String
    /// The port; the scheme's default port if the URL has none.
    public let port: Int
    /// User and password, percent-encoded as given; nil if the URL has none.
    let userInfo: String?
    /// Path and query as sent in the request line; never empty.
    public let requestTarget: String

    /// The error for a text that is not a supported URL.
    public enum Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// Not an absolute URL.
        case notAURL
        /// A scheme other than `http` and `https`.
        case unsupportedScheme(String)
        /// No host, or a host with invalid characters.
        case badHost

        /// The error, and what to use instead.
        public var description: String {
            switch self {
            case .notAURL: "not an absolute URL; use one such as https://example.org/file"
            case .unsupportedScheme(let scheme):
                "the scheme '\(Printable.escaped(scheme))' is not supported; use http or https"
            case .badHost: "the URL has no valid host; use one such as https://example.org/file"
            }
        }
    }

    /// Parses an absolute URL and drops its fragment.
    ///
    /// - Throws: ``Problem`` if it is not an absolute `http` or `https` URL with a valid host and port.
    public init(_ text: String) throws(Problem) {
        let isPlain = text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
        guard isPlain, let colon = text.firstIndex(of: ":") else { throw .notAURL }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            let isScheme =
                scheme.first?.isLetter == true && scheme.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) }
            // In user:password@host the first word is not a scheme, and must not be shown.
            let isURL = text[colon...].hasPrefix("://") || !text.contains("@")
            throw isScheme && isURL ? .unsupportedScheme(scheme) : .notAURL
        }
        guard text[colon...].hasPrefix("://"), let parts = URLComponents(string: text) else { throw .notAURL }
        // An invalid port, or one that is too large, must not be taken for the default port.
        let authority = text[colon...].dropFirst(3).prefix { !"/?#".contains($0) }
        let afterHost = authority.split(separator: "@", omittingEmptySubsequences: false).last?.split(separator: "]")
            .last
        let namesPort =
            afterHost?.split(separator: ":", omittingEmptySubsequences: false).dropFirst().last?.isEmpty == false
        guard parts.port != nil || !namesPort || authority.hasSuffix("]") else { throw .badHost }
        guard let host = parts.percentEncodedHost?.lowercased(), !host.isEmpty, !host.contains("%"),
            (parts.port ?? 80) > 0, (parts.port ?? 80) < 65536
        else { throw .badHost }
        self.scheme = scheme
        self.host = host
        port = parts.port ?? (scheme == "https" ? 443 : 80)
        let user = parts.percentEncodedUser.map { user in parts.percentEncodedPassword.map { "\(user):\($0)" } ?? user }
        userInfo = user.flatMap { $0.isEmpty ? nil : $0 }
        let path = parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath
        requestTarget = parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
    }

    /// The origin: scheme, host and port.
    ///
    /// Secrets for one origin are never sent to another one.
    public var origin: String { "\(scheme)://\(authority)" }

    /// The URL without user info and fragment, as it is requested.
    public var absoluteString: String { origin + requestTarget }

    /// Host, and port unless it is the scheme's default.
    public var authority: String {
        port == (scheme == "https" ? 443 : 80) ? host : "\(host):\(port)"
    }

    /// User and password, percent-decoded, as `user:password` for basic authentication.
    public var credentials: String? {
        userInfo.map { info in
            let text = PercentEncoding.decoded(info) ?? info
            return info.contains(":") ? text : text + ":"
        }
    }

    /// The last component of the path, percent-decoded; nil if the path ends in `/`, or if the component is not a valid
    /// filename.
    public var lastPathComponent: String? {
        // A secret in the path is not part of the name.
        let path = redacted.dropFirst(origin.count).prefix { $0 != "?" }
        guard let component = path.split(separator: "/", omittingEmptySubsequences: false).last,
            let name = PercentEncoding.decoded(String(component)), !name.isEmpty, name != ".", name != "..",
            name.utf8.count <= 200
        else { return nil }
        // Compares bytes, since a combining mark after a slash forms one character with it.
        return name.utf8.contains(UInt8(ascii: "/")) || Printable.escaped(name) != name ? nil : name
    }

    /// Resolves a `Location` field against this URL.
    ///
    /// - Throws: ``Problem`` if the result is not a supported URL.
    public func resolving(_ location: String) throws(Problem) -> DownloadURL {
        let isPlain = location.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
        guard isPlain, !location.isEmpty, let base = URL(string: absoluteString),
            let resolved = URL(string: location, relativeTo: base)
        else { throw .notAURL }
        return try DownloadURL(resolved.absoluteString)
    }
}
