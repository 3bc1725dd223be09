import HTTPTypes
import ResumeHTTP
import Testing

/// Requests and verdicts under policies other than the default ones.
@Suite(.timeLimit(.minutes(5)))
struct ResumePolicyTests {
    @Test("I10: If-Match carries the tag, If-Unmodified-Since the date; never beside an If-Range")
    func ifMatch() {
        let policy = ResumePolicy(condition: .ifMatch)
        #expect(
            Plan(for: Fixture.tagged, policy: policy).fields == [
                .acceptEncoding: "identity", .range: "bytes=95904-", .ifMatch: "\"a\"",
            ])
        #expect(
            Plan(for: Fixture.dated, policy: policy).fields == [
                .acceptEncoding: "identity", .range: "bytes=95904-", .ifUnmodifiedSince: Fixture.modified,
            ])
    }

    @Test("I10: 412 requests the whole file; a server that ignores If-Match is detected by its 206's tag")
    func ifMatchFails() {
        let policy = ResumePolicy(condition: .ifMatch)
        let plan = Plan(for: Fixture.tagged, policy: policy)
        let judge = { (head: HTTPResponse) in
            Verdict(for: head, to: plan, held: Fixture.tagged, policy: policy).summary
        }
        #expect(judge(response(412)) == "ask for whole: precondition-failed")
        #expect(
            judge(response(206, ["ETag: \"b\"", Fixture.contentRange])) == "ask for whole: entity-tag-changed")
        #expect(
            judge(response(206, ["ETag: \"a\"", Fixture.contentRange])) == "append 95904..<250000 at 100000: resumed")
    }

    @Test("HEAD first: then a range without a condition, or with If-Range if HEAD was inconclusive")
    func head() {
        let plan = Plan(for: Fixture.tagged, policy: ResumePolicy(condition: .head))
        #expect(plan.fields == [.acceptEncoding: "identity", .range: "bytes=95904-"])
        #expect(plan.conditional.fields[.ifRange] == "\"a\"")
    }

    @Test(
        "J04: HEAD compares the validator and nothing else",
        arguments: [
            (200, ["ETag: \"a\""], "unchanged"), (206, ["ETag: \"a\""], "unchanged"),
            (200, ["ETag: \"a\"", "Content-Length: 1"], "unchanged"),
            (200, ["ETag: \"b\""], "changed: entity-tag-changed"), (200, ["ETag: W/\"a\""], "unknown"),
            (200, ["ETag: \"a\"", "ETag: \"b\""], "unknown"), (200, [], "unknown"), (403, [], "unknown"),
            (404, [], "unknown"), (405, [], "unknown"), (501, [], "unknown"), (304, ["ETag: \"a\""], "unknown"),
            (503, ["Retry-After: 7"], "retry after 7"), (429, [], "retry later"),
        ] as [(Int, [String], String)])
    func headVerdict(status: Int, lines: [String], expected: String) throws {
        let tag = try #require(Fixture.tagged.representation?.validator)
        let text =
            switch HeadVerdict(for: response(status, lines), validator: tag) {
            case .unchanged: "unchanged"
            case .changed(let reason): "changed: \(reason.code.rawValue)"
            case .unknown: "unknown"
            case .retry(_, let seconds): "retry \(seconds.map { "after \($0)" } ?? "later")"
            }
        #expect(text == expected)
    }

    /// 100,000 bytes of 250,000 without a strong validator.
    private static func unvalidated(_ lines: [String]) -> HeldPartial {
        let fields = headerFields(lines + ["Content-Length: 250000"])
        return HeldPartial(representation: Representation(fields: fields), length: Fixture.length)
    }

    @Test("A03, A08: without a validator only if the caller allows it, and only with a proof")
    func unvalidated() {
        let policy = ResumePolicy(allowsUnvalidated: true)
        for lines in [[], ["ETag: W/\"a\""], ["Last-Modified: \(Fixture.modified)"]] {
            let held = Self.unvalidated(lines)
            #expect(Plan(for: held).fields[.range] == nil)
            let fields = Plan(for: held, policy: policy).fields
            #expect(fields[.range] == "bytes=\(Fixture.length - 65_536)-")
            // No condition is sent that the server must not compare.
            #expect(fields.count == 2)
            let digest = ResumePolicy(allowsUnvalidated: true, digest: HTTPDigest(.sha256, of: []))
            #expect(Plan(for: held, policy: digest).fields[.range] == "bytes=95904-")
            // Anyone can make two files with the same one.
            for algorithm in [HTTPDigest.Algorithm.md5, .sha1] {
                let weak = ResumePolicy(allowsUnvalidated: true, digest: HTTPDigest(algorithm, of: []))
                #expect(!weak.hasProof && Plan(for: held, policy: weak).fields == fields)
            }
        }
        var little = Self.unvalidated([])
        little.length = 65_536
        #expect(Plan(for: little, policy: policy).fields[.range] == nil)
    }

    @Test("B03, B06, B10: without a validator the known fields must still agree")
    func unvalidatedAnswers() {
        let policy = ResumePolicy(allowsUnvalidated: true)
        let range = "Content-Range: bytes 34464-249999/250000"
        let judge = { (held: [String], answer: [String]) in
            let held = Self.unvalidated(held)
            let plan = Plan(for: held, policy: policy)
            return Verdict(for: response(206, answer), to: plan, held: held, policy: policy).summary
        }
        let resumed = "append 34464..<250000 at 100000: resumed-unvalidated"
        #expect(judge([], [range]) == resumed)
        #expect(judge(["ETag: W/\"a\""], [range, "ETag: W/\"a\""]) == resumed)
        #expect(judge(["ETag: W/\"a\""], [range, "ETag: W/\"b\""]) == "ask for whole: entity-tag-changed")
        #expect(judge([], [range, "ETag: \"b\""]) == "ask for whole: entity-tag-changed")
        #expect(
            judge([], [range, "Last-Modified: \(Fixture.modified)"]) == "ask for whole: last-modified-changed")
        #expect(judge([], ["Content-Range: bytes 34464-249998/249999"]) == "ask for whole: length-changed")
    }

    @Test("G03, G07: coded bytes are stored as sent if the caller requests them, and never mixed")
    func coded() {
        let policy = ResumePolicy(storesCoded: true)
        let gzip = "Content-Encoding: GZip"
        let lines = ["ETag: \"a\"", Fixture.contentRange]
        let judge = { (status: Int, lines: [String], held: HeldPartial, policy: ResumePolicy) in
            Verdict(for: response(status, lines), to: Plan(for: held, policy: policy), held: held, policy: policy)
        }
        let fresh = HeldPartial(representation: nil, length: 0)
        #expect(judge(200, ["ETag: \"a\"", gzip], fresh, .init()).summary == "refuse: content-coded")
        #expect(judge(200, ["ETag: \"a\"", gzip], fresh, policy).representation?.contentCoding == "gzip")
        let coded = Fixture.held { $0.contentCoding = "gzip" }
        let resumed = "append 95904..<250000 at 100000: resumed"
        #expect(judge(206, lines + [gzip], coded, policy).summary == resumed)
        let changed = "ask for whole: coding-changed"
        #expect(judge(206, lines, coded, policy).summary == changed)
        #expect(judge(206, lines + [gzip], Fixture.tagged, policy).summary == changed)
        #expect(judge(206, lines + ["Content-Encoding: br"], coded, policy).summary == changed)
    }
}
