/// The key of a store's hashes (HMAC-SHA-256, RFC 2104).
///
/// Without it, guesses of what was hashed cannot be verified.
package struct HashKey: Sendable {
    /// The length of a key in bytes, less than a block of SHA-256.
    package static let size = 32

    /// The bytes, as they are stored.
    package let bytes: [UInt8]
    /// The hashes that begin with the padded key, which all messages share.
    private let inner, outer: RunningHash

    /// Creates a key from bytes, of which a block is used at most.
    package init(_ bytes: [UInt8]) {
        func begun(_ pad: UInt8) -> RunningHash {
            var hash = RunningHash(.sha256)
            hash.update((0..<64).map { pad ^ ($0 < bytes.count ? bytes[$0] : 0) })
            return hash
        }
        self.bytes = bytes
        inner = begun(0x36)
        outer = begun(0x5C)
    }

    package static func random() -> HashKey { HashKey(.random(count: size)) }

    /// The key where nothing is compared.
    package static let none = HashKey([])

    /// Returns the keyed hash of a message.
    package func code(_ message: [UInt8]) -> [UInt8] {
        var (inner, outer) = (inner, outer)
        inner.update(message)
        outer.update(digestOf: inner)
        return outer.digest?.bytes ?? []
    }
}
