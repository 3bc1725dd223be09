import Testing

@testable import ResumeCurl

/// Which names of certificates are valid for which hosts (RFC 9525, 6.3 and 6.5).
struct ServerNameTests {
    private static func name(_ text: String) -> LeafCertificate.CertificateName {
        text.hasPrefix("IP:")
            ? .address(text.dropFirst(3).split(separator: ".").compactMap { UInt8($0) }) : .dns(Array(text.utf8))
    }

    private static let valid: [(String, String)] = [
        ("a.example", "a.example"), ("A.Example", "a.EXAMPLE"), ("localhost", "localhost"), ("a.example", "a.example."),
        ("*.a.example", "b.a.example"), ("*.A.example", "b.a.example"), ("*.a.example", "xn--bcher-kva.a.example"),
        ("*.a.b.example", "c.a.b.example"), ("my_host.example", "my_host.example"), ("IP:127.0.0.1", "127.0.0.1"),
        ("1.example", "1.example"),
    ]

    @Test("Names that are valid for a host", arguments: valid)
    func covers(name: String, host: String) {
        #expect(Self.name(name).covers(LeafCertificate.ServerName(host: host)))
    }

    private static let invalid: [(String, String)] = [
        ("a.example", "b.example"), ("a.example", "b.a.example"), ("b.a.example", "a.example"), ("", "a.example"),
        // Wildcards within a label, beyond the first one, for several labels or for none.
        ("f*.a.example", "foo.a.example"), ("*f.a.example", "of.a.example"), ("*o*.a.example", "foo.a.example"),
        ("b.*.example", "b.a.example"), ("*.*.example", "b.a.example"), ("*.a.example", "c.b.a.example"),
        ("*.a.example", "a.example"), ("*.a.example", ".a.example"), ("xn--*.a.example", "xn--b.a.example"),
        // With fewer than two labels after them.
        ("*", "localhost"), ("*", "a.example"), ("*.", "a."), ("*.example", "a.example"), ("*..example", "a..example"),
        // Names for addresses, addresses for names.
        ("127.0.0.1", "127.0.0.1"), ("*.0.0.1", "127.0.0.1"), ("IP:127.0.0.1", "localhost"),
        ("IP:127.0.0.1", "127.0.0.2"), ("IP:127.0.0.1", "127.1"), ("127.1", "127.1"), ("2130706433", "2130706433"),
        ("IP:127.0.0.1", "[::ffff:127.0.0.1]"), ("::1", "[::1]"), ("IP:127.0.0", "127.0.0.1"),
        // Values that are not host names.
        ("a.example.", "a.example"), ("a.example\0", "a.example"), ("a.example\0.b.example", "a.example"),
        (" a.example", "a.example"), ("b\u{FC}cher.example", "b\u{FC}cher.example"), ("a b", "a b"), ("", ""),
        (".", "."),
    ]

    @Test("Names that are not valid for a host", arguments: invalid)
    func coversNot(name: String, host: String) {
        #expect(!Self.name(name).covers(LeafCertificate.ServerName(host: host)))
    }

    @Test("IPv6 addresses are compared by their bytes")
    func addresses() {
        let loopback = LeafCertificate.CertificateName.address(Array(repeating: 0, count: 15) + [1])
        #expect(loopback.covers(LeafCertificate.ServerName(host: "[::1]")))
        #expect(loopback.covers(LeafCertificate.ServerName(host: "[0:0::0:1]")))
        #expect(!loopback.covers(LeafCertificate.ServerName(host: "[::2]")))
        #expect(!loopback.covers(LeafCertificate.ServerName(host: "127.0.0.1")))
        #expect(loopback.text == "::1")
    }

    @Test("Names are limited to what DNS permits, and shown without control characters")
    func limits() {
        let label = String(repeating: "a", count: 63)
        let longest = [label, label, label, String(repeating: "a", count: 61)].joined(separator: ".")
        #expect(Self.name(longest).covers(LeafCertificate.ServerName(host: longest)))
        #expect(!Self.name("\(longest)a").covers(LeafCertificate.ServerName(host: "\(longest)a")))
        #expect(!Self.name("\(label)a.example").covers(LeafCertificate.ServerName(host: "\(label)a.example")))
        #expect(Self.name("a\u{1B}[2J.example\0").text == "a?[2J.example?")
    }
}
