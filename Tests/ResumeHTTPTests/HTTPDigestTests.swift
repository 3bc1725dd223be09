import HTTPTypes
import ResumeHTTP
import Testing

/// Digests from callers and servers.
@Suite(.timeLimit(.minutes(5)))
struct HTTPDigestTests {
    /// SHA-256 and SHA-512 of empty input.
    private static let sha256 = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    private static let sha512 =
        "z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="

    @Test(
        "K05, K06: the strongest known algorithm counts, and malformed values are ignored",
        arguments: [
            ("sha-256=:\(sha256):", .sha256), ("sha-512=:\(sha512):", .sha512),
            ("sha-256=:\(sha256):, sha-512=:\(sha512):", .sha512), ("md5=:AAAA:, sha-256=:\(sha256):", .sha256),
            ("sha-256=:\(sha256):;q=1", .sha256), ("md5=:AAAA:", nil), ("unixsum=30", nil), ("", nil),
            ("sha-256=\(sha256)", nil), ("sha-256=:\(sha256)", nil), ("sha-256=:AAAA:", nil),
            ("sha-256=:\(sha512):", nil), ("SHA-256=:\(sha256):", nil), ("sha-256=:\(sha256):,", nil),
            ("sha-256=(:\(sha256):)", nil), ("sha-256=\"\(sha256)\"", nil), ("sha-256", nil), (":::", nil),
        ] as [(String, HTTPDigest.Algorithm?)])
    func fields(text: String, expected: HTTPDigest.Algorithm?) {
        #expect(HTTPDigest(field: text)?.algorithm == expected)
    }

    @Test("The bytes are those of the digest")
    func bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(HTTPDigest(field: "sha-256=:\(Self.sha256):")?.hexadecimal == empty)
        #expect(HTTPDigest(.sha256, hexadecimal: empty.uppercased())?.hexadecimal == empty)
        #expect(HTTPDigest(field: "sha-256=:\(Self.sha256):") == HTTPDigest(.sha256, hexadecimal: empty))
    }

    @Test(
        "Invalid hexadecimal digits are refused",
        arguments: ["", "00", String(repeating: "g", count: 64), String(repeating: "0", count: 65)])
    func hexadecimal(text: String) {
        #expect(HTTPDigest(.sha256, hexadecimal: text) == nil)
        #expect(HTTPDigest(.sha512, hexadecimal: text) == nil)
    }

    @Test("K03: two different Content-Digest fields are invalid")
    func conflicting() {
        let other = String(repeating: "A", count: 43) + "="
        let one = headerFields(["Content-Digest: sha-256=:\(Self.sha256):"])
        let two = headerFields(["Content-Digest: sha-256=:\(Self.sha256):", "Content-Digest: sha-256=:\(other):"])
        #expect(HTTPDigest(contentDigestIn: one) != nil)
        #expect(HTTPDigest(contentDigestIn: two) == nil)
    }
}
