package import HTTPTypes

/// Everything of a request that decides which bytes a server sends, and to whom: the URL with user info and query, and
/// the caller's own fields with their credentials.
///
/// It is compared and stored as a keyed hash only (HMAC-SHA-256, RFC 2104): without the key no guess can be confirmed.
package struct RequestIdentity: Sendable {
    /// SHA-256, as of all values: who keeps an identity keeps no secret.
    private let url: [UInt8]
    /// Names in lower case, in order, each with its value; the values of one name in theirs.
    private let fields: [(name: String, value: [UInt8])]

    /// Makes an identity.
    ///
    /// - Parameters:
    ///   - url: What is asked for.
    ///   - fields: The caller's own fields. Those that a plan decides on are left out, but for codings.
    package init(_ url: DownloadURL, _ fields: HTTPFields) {
        let user = url.userInfo.map { "\($0)@" } ?? ""
        self.url = Self.digest(Array("\(url.scheme)://\(user)\(url.authority)\(url.requestTarget)".utf8))
        let own = fields.filter { field in
            // The plan's own value says nothing of the caller.
            field.name == .acceptEncoding
                ? field.value.filter { $0 != " " }.lowercased() != "identity"
                : !Plan.ownedFieldNames.contains(field.name)
        }
        self.fields = own.enumerated().map { ($0.offset, $0.element.name.canonicalName, $0.element.value) }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map { ($0.1, Self.digest(Array($0.2.utf8))) }
    }

    /// The hash of all of it.
    package func code(_ key: [UInt8]) -> [UInt8] {
        Self.code(key, url + fields.flatMap { Self.framed($0.name) + $0.value })
    }

    /// The hash of the fields that a server named in `Vary` (RFC 9111, 4.1).
    ///
    /// - Parameters:
    ///   - vary: ``Representation/vary``.
    ///   - key: The store's.
    /// - Returns: The hash.
    package func code(ofFieldsNamedIn vary: String, _ key: [UInt8]) -> [UInt8] {
        let names = vary.split(separator: ",").map { String($0.drop { $0 == " " }) }
        return Self.code(
            key,
            names.flatMap { name in
                Self.framed(name) + fields.filter { $0.name == name }.flatMap { Self.framed("=") + $0.value }
            })
    }

    /// A name with its length before it, so that no two lists are the same bytes.
    private static func framed(_ name: String) -> [UInt8] {
        let length = UInt64(name.utf8.count)
        return (0..<8).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + Array(name.utf8)
    }

    /// HMAC-SHA-256.
    package static func code(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        // A key of the length that is made here is never longer than a block.
        let key = Array(key.prefix(blockSize)) + Array(repeating: 0, count: max(blockSize - key.count, 0))
        return digest(key.map { $0 ^ 0x5C } + digest(key.map { $0 ^ 0x36 } + message))
    }

    private static let blockSize = 64

    /// How many bytes a store's key has.
    package static let keySize = 32

    /// Makes a key.
    package static func newKey() -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        return (0..<keySize).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] { HTTPDigest(.sha256, of: bytes)?.bytes ?? [] }
}
