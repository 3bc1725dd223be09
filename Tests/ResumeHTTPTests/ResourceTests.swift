import HTTPTypes
@testable import ResumeHTTP
import Testing

/// What bytes came from, and whether they may be continued (RULES 1 and 2).
struct ResourceTests {
    private static let key = HashKey([UInt8](repeating: 7, count: 32))
    private static let origin = "https://a.test/f.bin"

    private static func resource(
        _ url: String, _ fields: HTTPFields = [:], from final: String? = nil, trust: ServerTrust? = nil
    ) throws -> Provenance {
        let url = try DownloadURL(url)
        return Provenance(
            RequestIdentity(url, fields), at: url, from: try final.map { try DownloadURL($0) }, trust: trust, key)
    }

    @Test(
        "Parameters of schemes that sign the path make no other resource",
        arguments: [
            ("X-Amz-Credential=a&X-Amz-Date=1&X-Amz-Signature=b", "X-Amz-Credential=c&X-Amz-Date=2&X-Amz-Signature=d"),
            ("x-goog-credential=a&x-goog-signature=b", "x-goog-credential=c&x-goog-expires=9&x-goog-signature=d"),
            ("AWSAccessKeyId=a&Expires=1&Signature=b", "AWSAccessKeyId=a&Expires=2&Signature=c"),
            ("sv=2020&se=1&sr=b&sig=a", "sv=2021&se=2&sr=b&sig=c"),
            ("Key-Pair-Id=K&Expires=1&Signature=a", "Key-Pair-Id=K&Policy=p&Signature=c"),
            ("q-ak=a&q-signature=b&q-sign-time=1", "q-ak=a&q-signature=c&q-sign-time=2"),
            ("x-oss-credential=a&x-oss-signature=b", "x-oss-credential=a&x-oss-signature=c"),
        ])
    func signed(first: String, second: String) throws {
        let held = try Self.resource("\(Self.origin)?\(first)")
        #expect(try Self.resource("\(Self.origin)?\(second)") == held)
        #expect(try Self.resource("\(Self.origin)?versionId=3&\(second)") != held)
        #expect(try Self.resource("https://a.test/other.bin?\(second)") != held)
        // Behind a redirect as well.
        let behind = try Self.resource("https://r.test/f", from: "\(Self.origin)?\(first)")
        #expect(try Self.resource("https://r.test/f", from: "\(Self.origin)?\(second)") == behind)
    }

    @Test(
        "Tokens, credentials and fields make another resource where the final origin receives them",
        arguments: [
            "https://a.test/f.bin?token=two", "https://a.test/f.bin?session=two", "https://user:two@a.test/f.bin",
            "https://a.test/f.bin?sig=two", "https://a.test/f.bin?X-Amz-Signature=two",
            // Two signatures: it is not known which one the server uses.
            "https://a.test/f.bin?X-Amz-Credential=a&X-Amz-Signature=b&X-Amz-Signature=two",
        ])
    func secrets(url: String) throws {
        let cdn = "https://cdn.test/1"
        let other = url.replacing("two", with: "three")
        #expect(try Self.resource(url) != Self.resource(other))
        #expect(try Self.resource(url, from: "https://a.test/x") != Self.resource(other, from: "https://a.test/x"))
        #expect(try Self.resource(url, from: cdn) == Self.resource(other, from: cdn))
        for name in [HTTPField.Name.authorization, .cookie] {
            let (one, two): (HTTPFields, HTTPFields) = ([name: "1"], [name: "2"])
            #expect(try Self.resource(Self.origin, one) != Self.resource(Self.origin, two))
            #expect(try Self.resource(Self.origin, one, from: cdn) == Self.resource(Self.origin, two, from: cdn))
        }
        let (one, two): (HTTPFields, HTTPFields) = ([.accept: "1"], [.accept: "2"])
        #expect(try Self.resource(Self.origin, one, from: cdn) != Self.resource(Self.origin, two, from: cdn))
    }

    @Test("A field that the caller calls secret counts only where it is sent")
    func secretFields() throws {
        let (name, url) = (try #require(HTTPField.Name("X-Api-Key")), try DownloadURL(Self.origin))
        let code = { (value: String, final: String?) in
            Provenance(
                RequestIdentity(url, [name: value], secret: [name]), at: url,
                from: try final.map { try DownloadURL($0) },
                trust: nil, Self.key)
        }
        #expect(try code("1", nil) != code("2", nil))
        #expect(try code("1", "https://cdn.test/1") == code("2", "https://cdn.test/1"))
    }

    @Test("The final address counts, with its query but without its signature")
    func final() throws {
        let held = try Self.resource(Self.origin, from: "https://cdn.test/v1?id=1")
        for other in ["https://cdn.test/v2?id=1", "https://b.test/v1?id=1", "https://cdn.test/v1?id=2"] {
            #expect(try Self.resource(Self.origin, from: other) != held)
        }
        #expect(held.origin == "https://cdn.test" && Provenance(stored: held.stored) == held)
        #expect(!held.stored.contains("v1"), "the path may be a secret")
        // As an earlier release recorded it.
        var earlier = held
        earlier.address = "https://cdn.test/v1"
        earlier.hidePath(Self.key)
        #expect(earlier == held)
        let reason = ResourceVerdict(
            held: held, answer: try Self.resource(Self.origin, from: "https://cdn.test/S3CRET"))
        #expect("\(reason)".contains("another address there") && !"\(reason)".contains("S3CRET"))
        #expect(Provenance(stored: "x") == nil && Provenance(stored: "a b c") == nil)
    }

    @Test("Plain http anywhere on the way is plain http")
    func trust() throws {
        #expect(try Self.resource(Self.origin).trust == .verified)
        #expect(try Self.resource("http://a.test/f").trust == .plain)
        #expect(try Self.resource("http://a.test/f", from: Self.origin).trust == .plain)
        #expect(try Self.resource(Self.origin, trust: .unverified).trust == .unverified)
        for trust in [ServerTrust.verified, .plain, .unverified, .authorities("ab")] {
            #expect(ServerTrust(stored: trust.stored) == trust)
        }
    }

    /// What else is known.
    private struct Terms {
        var hasProof = false
        var isRenewed = false
        var isConfirmed = false
    }

    /// What is held, what answers, what is known, and the decision.
    private static let cases: [(held: String, answer: String, terms: Terms, verdict: String)] = [
        ("1 tls https://a/f", "1 tls https://a/f", .init(), "same"),
        ("1 tls https://a/f", "1 tls https://a/f", .init(hasProof: true), "same"),
        ("1 tls https://a/f", "2 tls https://a/f", .init(), "samples"),
        ("1 tls https://a/f", "2 tls https://b/f", .init(), "samples"),
        ("1 tls https://a/f", "2 tls https://b/f", .init(isConfirmed: true), "same"),
        ("1 tls https://a/f", "2 tls https://a/f", .init(isRenewed: true), "same"),
        ("1 tls https://a/f", "2 tls https://b/f", .init(isRenewed: true), "samples"),
        ("1 tls https://a/f", "2 tls https://b/f", .init(hasProof: true), "digest"),
        ("1 tls https://a/f", "1 unverified https://a/f", .init(), "own"),
        ("1 unverified https://a/f", "1 tls https://a/f", .init(isRenewed: true, isConfirmed: true), "own"),
        ("1 http http://a/f", "2 tls https://a/f", .init(), "own"),
        ("1 http http://a/f", "2 tls https://a/f", .init(hasProof: true), "digest"),
        ("1 ca:ab https://a/f", "1 ca:cd https://a/f", .init(), "own"),
        ("1 ca:ab https://a/f", "1 ca:ab https://a/f", .init(), "same"),
    ]

    @Test("Whether stored bytes may be continued", arguments: cases.indices)
    func verdicts(index: Int) throws {
        let row = Self.cases[index]
        let (held, answer) = (Provenance(stored: row.held), Provenance(stored: row.answer))
        let verdict = ResourceVerdict(
            held: try #require(held), answer: try #require(answer), hasProof: row.terms.hasProof,
            isRenewed: row.terms.isRenewed, isConfirmed: row.terms.isConfirmed)
        let text =
            switch verdict {
            case .same: "same"
            case .underDigest: "digest"
            case .compareSamples: "samples"
            case .ownEntry: "own"
            }
        #expect(text == row.verdict)
    }
}
