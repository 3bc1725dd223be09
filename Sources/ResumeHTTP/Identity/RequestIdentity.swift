package import HTTPTypes

/// The parts of a request that determine which bytes a server sends, and to whom: the URL with user info and query, and
/// the caller's fields including credentials.
///
/// Only keyed hashes of it are compared and stored.
package struct RequestIdentity: Sendable {
    /// The SHA-256 of the URL.
    ///
    /// All values are hashed, so that an identity in memory contains no secrets.
    private let url: [UInt8]
    private let origin: String
    /// The SHA-256 of the URL without parameters that sign its path, and of the URL without secrets.
    private let unsigned, redacted: [UInt8]
    /// Field names in lower case, sorted, each with the hash of its value; values of the same name keep their order.
    private let fields: [(name: String, value: [UInt8])]
    /// The names of fields that are sent to the origin of the URL only.
    private let secretNames: Set<String>
    private static let credentials = Set(Redirection.credentials.map(\.canonicalName))

    /// Creates an identity.
    ///
    /// - Parameters:
    ///   - url: The requested URL.
    ///   - fields: The caller's fields. Fields that the plan sets are ignored, except a caller's own `Accept-Encoding`.
    ///   - secret: The names of fields that are sent to the origin of the URL only, besides the well-known ones.
    package init(_ url: DownloadURL, _ fields: HTTPFields, secret: Set<HTTPField.Name> = []) {
        secretNames = secret.isEmpty ? Self.credentials : Self.credentials.union(secret.map(\.canonicalName))
        let start = url.userInfo.map { "\(url.scheme)://\($0)@\(url.authority)" } ?? url.origin
        self.url = Self.digest((start + url.requestTarget).utf8)
        let target = url.unsignedTarget
        unsigned = target == url.requestTarget ? self.url : Self.digest((start + target).utf8)
        redacted = url.hasSecrets ? Self.digest(url.redacted.utf8) : self.url
        origin = url.origin
        let own = fields.filter { field in
            // The plan's default value is not the caller's choice.
            field.name == .acceptEncoding
                ? field.value != "identity" && field.value.filter { $0 != " " }.lowercased() != "identity"
                : !Plan.ownedFieldNames.contains(field.name)
        }
        self.fields = own.enumerated().map { ($0.offset, $0.element.name.canonicalName, $0.element.value) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map { ($0.1, Self.digest($0.2.utf8)) }
    }

    /// Returns the hash of the whole identity.
    package func code(_ key: HashKey) -> [UInt8] {
        key.code(url + fields.flatMap { Self.framed($0.name) + $0.value })
    }

    /// Returns the parts of the request that a server has received after redirects, as hashes.
    ///
    /// At another origin than the requested one, they contain nothing secret. Parameters that sign the path are left out.
    func sent(to final: DownloadURL) -> [UInt8] {
        let isAtOrigin = final.origin == origin
        let sent = isAtOrigin ? fields : fields.filter { !secretNames.contains($0.name) }
        return (isAtOrigin ? unsigned : redacted) + sent.flatMap { Self.framed($0.name) + $0.value }
    }

    /// Returns the hash of the fields that a server named in `Vary` (RFC 9111, 4.1).
    ///
    /// - Parameters:
    ///   - vary: ``Representation/vary``.
    ///   - key: The store's key.
    /// - Returns: The hash.
    package func code(ofFieldsNamedIn vary: String, _ key: HashKey) -> [UInt8] {
        let names = vary.split(separator: ",").map { String($0.drop { $0 == " " }) }
        return key.code(
            names.flatMap { name in
                Self.framed(name) + fields.filter { $0.name == name }.flatMap { Self.framed("=") + $0.value }
            })
    }

    /// Prefixes a name with its length, so that different lists never result in the same bytes.
    private static func framed(_ name: String) -> [UInt8] {
        UInt64(name.utf8.count).bytes + Array(name.utf8)
    }

    private static func digest(_ bytes: some Sequence<UInt8>) -> [UInt8] { HTTPDigest(.sha256, of: bytes)?.bytes ?? [] }
}
