#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
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
    package let port: Int
    /// Host, and port unless it is the scheme's default.
    public let authority: String
    /// User and password, percent-encoded as given; nil if the URL has none.
    let userInfo: String?
    /// Path and query as sent in the request line; never empty.
    public let requestTarget: String
    /// Whether nothing of the target can be a secret, as in most URLs.
    let isPlainPath: Bool
    /// The origin: scheme, host and port.
    ///
    /// Secrets for one origin are never sent to another one.
    package let origin: String
    /// The URL without user info and fragment, as it is requested.
    public let absoluteString: String

    /// Parses an absolute URL and drops its fragment.
    ///
    /// - Throws: ``InvalidInput`` if it is not an absolute `http` or `https` URL with a valid host and port.
    public init(_ text: String) throws(InvalidInput) {
        if let url = DownloadURL(plain: text) {
            self = url
            return
        }
        guard Self.isPlain(text), let colon = text.utf8.firstIndex(of: .colon) else { throw .notAURL }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else {
            let isScheme =
                scheme.first?.isLetter == true && scheme.allSatisfy { $0.isLetter || $0.isNumber || "+-.".contains($0) }
            // In user:password@host the first word is not a scheme, and must not be shown.
            let isURL = text[colon...].hasPrefix("://") || !text.contains("@")
            throw isScheme && isURL ? .unsupportedScheme(scheme) : .notAURL
        }
        guard text.utf8[colon...].starts(with: "://".utf8) else {
            // As curl reads it.
            guard text.utf8[colon...].starts(with: ":/".utf8) else { throw .notAURL }
            self = try DownloadURL("\(scheme):/\(text[colon...].dropFirst())")
            return
        }
        let authority = text.unicodeScalars[colon...].dropFirst(3).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let place = authority.lastIndex(of: "@").map { authority[$0...].dropFirst() } ?? authority
        guard place.allSatisfy(\.isASCII) else { throw .internationalHost }
        guard let parts = URLComponents(string: PercentEncoding.encodingInvalid(text)) else {
            throw .notAURL
        }
        // An invalid port, or one that is too large, must not be taken for the default port.
        guard parts.port != nil || !Self.namesPort(place),
            // Programs differ in which of two at signs is the one before the host.
            authority.firstIndex(of: "@") == authority.lastIndex(of: "@"),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, !host.utf8.contains(.percent),
            (1..<65536).contains(parts.port ?? 80),
            // The limits of DNS; some programs write longer names into fixed buffers.
            host.utf8.count <= 253, host.utf8.split(separator: .dot).allSatisfy({ $0.count <= 63 })
        else { throw .badHost }
        let user = parts.percentEncodedUser.map { user in parts.percentEncodedPassword.map { "\(user):\($0)" } ?? user }
        let path = Self.withoutDots(parts.percentEncodedPath)
        let defaultPort = scheme == "https" ? 443 : 80
        self.scheme = scheme
        self.host = Self.address(host) ?? host
        port = parts.port ?? defaultPort
        self.authority = port == defaultPort ? self.host : "\(self.host):\(port)"
        userInfo = user.flatMap { $0.isEmpty ? nil : $0 }
        requestTarget = parts.percentEncodedQuery.map { "\(path)?\($0)" } ?? path
        isPlainPath = Self.isPlainPath(requestTarget)
        origin = "\(scheme)://\(self.authority)"
        absoluteString = origin + requestTarget
    }

    /// Returns the usual form of an IPv4 address, as `inet_aton` reads it: `0127.1` and `0x57000001` are 87.0.0.1.
    ///
    /// Everything that compares hosts then compares what a connection goes to. Nil for anything else.
    private static func address(_ host: String) -> String? {
        let parts = host.parts(at: ".")
        var numbers = parts.compactMap(number)
        // The last number has all bytes that are left.
        guard numbers.count == parts.count, let last = numbers.popLast(), numbers.count < 4,
            numbers.allSatisfy({ $0 < 256 }), UInt64(last) >> UInt64(8 * (4 - numbers.count)) == 0
        else { return nil }
        while numbers.count < 4 {
            numbers.append(last >> UInt32(8 * (3 - numbers.count)) & 255)
        }
        return numbers.map(String.init).joined(separator: ".")
    }

    /// Returns a part of an address: hexadecimal after `0x`, octal after `0`.
    private static func number(_ part: Substring) -> UInt32? {
        let isHexadecimal = part.utf8.starts(with: "0x".utf8)
        let digits = isHexadecimal ? part.dropFirst(2) : part
        // A sign is not a digit.
        guard let first = digits.utf8.first, first >= 0x30 else { return nil }
        if isHexadecimal { return UInt32(digits, radix: 16) }
        return UInt32(digits, radix: first == 0x30 ? 8 : 10)
    }

    /// Whether a text has neither spaces nor control characters.
    private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }

    /// Whether a host has a text behind it where a port belongs.
    private static func namesPort(_ place: Substring.UnicodeScalarView) -> Bool {
        // An address in brackets contains colons.
        let rest = place.lastIndex(of: "]").map { place[$0...] } ?? place
        return rest.contains(":") && rest.last != ":"
    }

    /// Removes the segments `.` and `..` of a path (RFC 3986, 5.2.4), as curl and browsers do.
    private static func withoutDots(_ path: String) -> String {
        guard zip(path.utf8, path.utf8.dropFirst()).contains(where: { $0 == (0x2F, 0x2E) }) else {
            return path.isEmpty ? "/" : path
        }
        let segments = path.parts(at: "/").dropFirst()
        var kept: [Substring] = []
        for segment in segments {
            if segment == ".." {
                _ = kept.popLast()
            } else if segment != "." {
                kept.append(segment)
            }
        }
        if segments.last == "." || segments.last == ".." { kept.append("") }
        return "/\(kept.joined(separator: "/"))"
    }

    /// User and password, percent-decoded, as `user:password` for basic authentication.
    package var credentials: String? {
        userInfo.map { info in
            let text = PercentEncoding.decoded(info) ?? info
            return info.contains(":") ? text : text + ":"
        }
    }

    /// Returns the value of `Authorization` for a user and password, `user:password` (RFC 7617).
    package static func basicAuthorization(_ credentials: String) -> String {
        "Basic \(Data(credentials.utf8).base64EncodedString())"
    }

    /// The last component of the path as the name of a file; nil if the path ends in `/`.
    ///
    /// It is percent-decoded, except what cannot be in a name, such as `%2F` and bytes that are not UTF-8. A name that is
    /// too long for file systems is cut before its extension.
    public var lastPathComponent: String? {
        // A secret in the path is not part of the name.
        let path = redactedTarget.utf8.prefix { $0 != UInt8(ascii: "?") }
        let last = path.lastIndex(of: .slash).map { path[$0...].dropFirst() } ?? path
        let name = PercentEncoding.decodedName(String(Substring(last)))
        return name.isEmpty || name == "." || name == ".." ? nil : FileName.fitting(name)
    }

    /// Resolves a `Location` field against this URL.
    ///
    /// - Throws: ``InvalidInput`` if the result is not a supported URL.
    func resolving(_ location: String) throws(InvalidInput) -> DownloadURL {
        // Foundation decodes what is encoded, and drops a path that is not UTF-8 then.
        let shielded = { (text: String) in text.replacing("%", with: "%25") }
        guard Self.isPlain(location), !location.isEmpty, let base = URL(string: shielded(absoluteString)),
            let resolved = URL(string: shielded(PercentEncoding.encodingInvalid(location)), relativeTo: base)
        else { throw .notAURL }
        return try DownloadURL(resolved.absoluteString.replacing("%25", with: "%"))
    }
}
