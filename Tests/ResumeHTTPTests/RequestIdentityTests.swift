import HTTPTypes
import ResumeHTTP
import Testing

/// Which properties of a request decide who owns the bytes, and what is asked of a server for another caller's bytes.
@Suite(.timeLimit(.minutes(5)))
struct RequestIdentityTests {
    private static let key = HashKey([UInt8](0..<32))

    private static func code(_ url: String, _ lines: [String] = [], key: HashKey = key) throws -> [UInt8] {
        RequestIdentity(try DownloadURL(url), headerFields(lines)).code(key)
    }

    @Test(
        "Each part of a request counts",
        arguments: [
            ("https://h/f", ["Authorization: Bearer a"]), ("https://h/f", ["Authorization: Bearer b"]),
            ("https://h/f", ["Cookie: a"]), ("https://h/f", ["Accept: a"]),
            ("https://h/f", ["Accept: a", "Accept: b"]),
            ("https://h/f", ["Accept-Encoding: gzip"]), ("https://u@h/f", []), ("https://u:p@h/f", []),
            ("https://h/f?token=a", []), ("https://h/f?token=b", []), ("https://h/g", []), ("http://h/f", []),
            ("https://h:8443/f", []), ("https://h/f", ["A: b", "C: d"]), ("https://h/f", ["A: bC", "D: "]),
        ])
    func differs(url: String, lines: [String]) throws {
        #expect(try Self.code(url, lines) != Self.code("https://h/f"))
        #expect(try Self.code(url, lines) == Self.code(url, lines))
        #expect(try Self.code(url, lines) != Self.code(url, lines, key: HashKey([UInt8](1..<33))))
        #expect(try Self.code(url, lines).count == 32)
    }

    @Test("Neither the order of names nor fields that a plan sets count")
    func same() throws {
        let url = "https://h/f"
        #expect(try Self.code(url, ["A: 1", "B: 2"]) == Self.code(url, ["b: 2", "a: 1"]))
        #expect(try Self.code(url, ["A: 1", "A: 2"]) != Self.code(url, ["A: 2", "A: 1"]))
        let owned = ["Range: bytes=0-", "If-Range: \"a\"", "If-None-Match: *", "Accept-Encoding: identity"]
        #expect(try Self.code(url, owned) == Self.code(url))
        #expect(try Self.code(url + "#part") == Self.code(url))
    }

    /// HMAC-SHA-256 of empty text.
    @Test func isHMAC() throws {
        let identity = RequestIdentity(try DownloadURL("https://h/f"), [:])
        // The output of `openssl dgst -sha256 -mac HMAC` for this key.
        let expected = "d38b42096d80f45f826b44a9d5607de72496a415d3f4a1a8c88e3bb9da8dc1cb"
        #expect(HTTPDigest(.sha256, bytes: identity.code(ofFieldsNamedIn: "", Self.key))?.hexadecimal == expected)
    }

    @Test("Only the fields named by Vary count for a variant")
    func varied() throws {
        let url = try DownloadURL("https://h/f")
        func code(_ vary: String, _ lines: [String]) -> [UInt8] {
            RequestIdentity(url, headerFields(lines)).code(ofFieldsNamedIn: vary, Self.key)
        }
        #expect(code("accept", ["Accept: a", "X-Request-Id: 1"]) == code("accept", ["Accept: a", "X-Request-Id: 2"]))
        #expect(code("accept", ["Accept: a"]) != code("accept", ["Accept: b"]))
        #expect(code("accept", ["Accept: a"]) != code("accept", []))
        #expect(code("accept, cookie", ["Cookie: c"]) != code("accept, cookie", ["Accept: c"]))
    }

    @Test(
        "Vary is a set of names",
        arguments: [
            ([], nil), (["Vary: "], nil), (["Vary: Accept"], "accept"), (["Vary: b, A,b"], "a, b"),
            (["Vary: a", "Vary: *"], "*"), (["Vary: \u{E9}, x"], "x"),
            (["Vary: " + (0..<1000).map { "x-\($0)" }.joined(separator: ",")], "*"),
        ] as [([String], String?)])
    func vary(lines: [String], expected: String?) {
        #expect(Representation(fields: headerFields(lines)).vary == expected)
    }

    @Test("A field with 100,000 names is not parsed")
    func endlessFields() {
        let names = (0..<100_000).map { "n\($0)" }.joined(separator: ",")
        #expect(Representation(fields: headerFields(["Vary: \(names)"])).vary == "*")
        #expect(Representation(fields: headerFields(["Content-Encoding: \(names)"])).contentCoding == "unknown")
        // Repeated names count once.
        let often = Array(repeating: "accept", count: 1000).joined(separator: ",")
        #expect(Representation(fields: headerFields(["Vary: \(often)"])).vary == "accept")
    }
}

/// The request for bytes that a caller may not have without one.
@Suite(.timeLimit(.minutes(5)))
struct ConfirmationTests {
    private static func held(
        _ held: HeldPartial, length: Int64 = Fixture.total, _ access: HeldPartial.Access = .foreign
    )
        -> HeldPartial
    {
        var held = held
        held.length = length
        held.access = access
        return held
    }

    @Test("All bytes of another request: the last ones are requested, with a condition, and compared")
    func asks() {
        for access in [HeldPartial.Access.foreign, .unconfirmed] {
            let held = Self.held(Fixture.tagged, access)
            #expect(!held.isComplete && held.hasAllBytes)
            let plan = Plan(for: held)
            #expect(plan.fields == [.acceptEncoding: "identity", .range: "bytes=245904-249999", .ifRange: "\"a\""])
            let same = ["ETag: \"a\"", "Content-Range: bytes 245904-249999/250000"]
            let verdict = Verdict(for: response(206, same), to: plan, held: held)
            #expect(verdict.summary == "append 245904..<250000 at 250000: resumed")
            let other = Verdict(for: response(200, ["ETag: \"b\"", "Content-Length: 9"]), to: plan, held: held)
            #expect(other.summary == "start over: entity-tag-changed")
            // The plain file may be sent although its ranges are refused, but not without credentials.
            for (code, step) in [(401, "refuse"), (403, "ask for whole"), (404, "ask for whole")] {
                #expect(Verdict(for: response(code), to: plan, held: held).summary == "\(step): status-\(code)")
            }
            let missing = Verdict(for: response(206, [same[1]]), to: plan, held: held)
            #expect(missing.summary == "ask for whole: validator-missing")
            let short = ["ETag: \"a\"", "Content-Range: bytes 245904-249998/250000"]
            #expect(
                Verdict(for: response(206, short), to: plan, held: held).summary
                    == "ask for whole: range-without-progress")
        }
        #expect(Plan(for: Self.held(Fixture.tagged, .granted)) == .complete)
        #expect(Plan(for: Self.held(Fixture.dated)).fields[.ifRange] == Fixture.modified)
        let noOverlap = Plan(for: Self.held(Fixture.tagged), policy: ResumePolicy(overlap: 0))
        #expect(noOverlap.fields[.range] == "bytes=249999-249999")
    }

    @Test("Without a strong validator nothing is shared, unless the caller names a digest")
    func weak() throws {
        var weak = Fixture.tagged
        weak.representation?.entityTag = EntityTag(rawValue: "W/\"a\"")
        let policy = ResumePolicy(allowsUnvalidated: true)
        let digest = ResumePolicy(digest: HTTPDigest(.sha256, of: []))
        for length in [Fixture.length, Fixture.total] {
            #expect(Plan(for: Self.held(weak, length: length), policy: policy).wholeReason == "not-shared")
            // A digest is an identity.
            let range = try #require(Plan(for: Self.held(weak, length: length), policy: digest).rest)
            #expect(range.validator == nil)
        }
        let own = Plan(for: Self.held(weak, length: Fixture.length, .unconfirmed), policy: policy)
        #expect(own.rest != nil, "the caller's own partial is continued")
    }

    @Test("For ranges, the end of the last one is requested")
    func selection() throws {
        var held = Self.held(Fixture.tagged, length: 20_010)
        held.selection = try RangeSelection(parsing: "0-9,100000-119999")
        #expect(held.hasAllBytes)
        let plan = Plan(for: held)
        #expect(plan.fields[.range] == "bytes=115904-119999")
        let fields = ["ETag: \"a\"", "Content-Range: bytes 115904-119999/250000"]
        let verdict = Verdict(for: response(206, fields), to: plan, held: held)
        #expect(verdict.summary == "append 15914..<20010 at 20010: resumed")
        // Up to the end, from a server that sends the whole file.
        held.selection = try RangeSelection(parsing: "-20010")
        let whole = response(200, ["ETag: \"a\"", "Content-Length: 250000"])
        let kept = Verdict(for: whole, to: Plan(for: held), held: held)
        #expect(kept.summary == "append 0..<20010 at 20010: prefix-kept")
    }
}
