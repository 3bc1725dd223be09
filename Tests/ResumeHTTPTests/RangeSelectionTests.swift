import HTTPTypes
import ResumeHTTP
import Testing

/// Ranges chosen by the caller.
@Suite(.timeLimit(.minutes(5)))
struct RangeSelectionTests {
    @Test(
        "Ranges in the syntax of the field",
        arguments: [
            ("bytes=0-99", "bytes=0-99"), ("0-99", "bytes=0-99"), ("BYTES=5-", "bytes=5-"), ("-500", "bytes=-500"),
            ("bytes=0-0, 9-9,\t-1", "bytes=0-0,9-9,-1"), ("bytes=4503599627370496-", "bytes=4503599627370496-"),
            ("", nil), ("bytes=", nil), ("bytes=-", nil), ("bytes=-0", nil), ("bytes=9-5", nil), ("items=0-1", nil),
            ("bytes=0-1-2", nil), ("bytes=a-b", nil), ("bytes=+1-2", nil), ("bytes=1-2,", nil), ("bytes=1--2", nil),
            ("bytes=0-1=2", nil), ("bytes=9223372036854775807-", nil), ("bytes=0-18446744073709551616", nil),
        ] as [(String, String?)])
    func parsing(text: String, expected: String?) {
        #expect(RangeSelection(text)?.description == expected)
    }

    @Test("Errors are reported, not ignored")
    func problems() throws {
        #expect(throws: InvalidInput.self) { _ = try RangeSelection(parsing: "bytes=5-1") }
        #expect(throws: InvalidInput("not a digest; 64 hexadecimal digits are required")) {
            _ = try HTTPDigest(.sha256, parsing: "oops")
        }
        #expect(try RangeSelection(parsing: "5-9").description == "bytes=5-9")
        let digits = String(repeating: "0A", count: 32)
        #expect(try HTTPDigest(.sha256, parsing: digits).hexadecimal == digits.lowercased())
    }

    @Test("At most a thousand ranges")
    func limit() {
        let ranges = { (count: Int) in Array(repeating: "0-9", count: count).joined(separator: ",") }
        #expect(RangeSelection(ranges(1000))?.length(completeLength: 100) == 10_000)
        #expect(RangeSelection(ranges(1001)) == nil)
    }

    @Test(
        "The number of bytes in ranges",
        arguments: [
            ("0-99", 1000, 100), ("990-1999", 1000, 10), ("5-", 1000, 995), ("-500", 1000, 500), ("-500", 100, 100),
            ("0-9,20-29,-5", 1000, 25), ("1000-", 1000, nil), ("0-9,1000-1001", 1000, nil), ("0-9", 0, nil),
            ("-5", 0, nil), ("0-9,20-29", nil, 20), ("5-", nil, nil), ("-5", nil, nil), ("0-9", Int64.max, nil),
        ] as [(String, Int64?, Int64?)])
    func lengths(text: String, complete: Int64?, expected: Int64?) {
        #expect(RangeSelection(text)?.length(completeLength: complete) == expected)
    }

    private static let tagged = Fixture.tagged.representation

    private static func held(_ text: String, _ length: Int64) -> HeldPartial {
        HeldPartial(representation: length > 0 ? tagged : nil, length: length, selection: RangeSelection(text))
    }

    @Test(
        "C22: each range is requested separately, the rest of it with the condition",
        arguments: [
            ("100-199", 0, "bytes=100-199", nil), ("-50", 0, "bytes=-50", nil), ("5-", 0, "bytes=5-", nil),
            // The overlap is not longer than the bytes of the range that are stored.
            ("100-199", 30, "bytes=100-199", "\"a\""), ("100-99999", 50_000, "bytes=46004-99999", "\"a\""),
            ("0-9,200-299", 10, "bytes=200-299", "\"a\""), ("0-9,200-299", 60, "bytes=200-299", "\"a\""),
            ("-50", 10, "bytes=249950-249999", "\"a\""), ("200000-300000", 20_000, "bytes=215904-249999", "\"a\""),
        ] as [(String, Int64, String, String?)])
    func plans(text: String, length: Int64, range: String, condition: String?) {
        let fields = Plan(for: Self.held(text, length)).fields
        #expect(fields[values: .range] == [range])
        #expect(fields[.ifRange] == condition)
    }

    @Test("All wanted bytes are complete, and nothing is requested")
    func complete() {
        #expect(Plan(for: Self.held("0-9,200-299", 110)) == .complete)
        #expect(Plan(for: Self.held("0-9,200-299", 109)) != .complete)
    }

    @Test("Without a validator the range is requested from its beginning")
    func unvalidated() {
        var held = Self.held("100-199", 30)
        held.representation?.entityTag = nil
        #expect(Plan(for: held).fields == [.acceptEncoding: "identity", .range: "bytes=100-199"])
    }

    private static func judge(_ text: String, _ length: Int64, _ status: Int, _ lines: [String]) -> String {
        let held = held(text, length)
        return Verdict(for: response(status, lines), to: Plan(for: held), held: held).summary
    }

    @Test(
        "The verdict on the answer to the first request",
        arguments: [
            ("100-199", 206, ["Content-Range: bytes 100-199/250000"], "start 0+0..<100: first-request"),
            ("100-199", 206, ["Content-Range: bytes 0-299/250000"], "start 100+0..<100: first-request"),
            ("100-199", 206, ["Content-Range: bytes 100-149/250000"], "start 0+0..<50: first-request"),
            ("100-199", 206, ["Content-Range: bytes 100-199/*"], "start 0+0..<100: first-request"),
            ("100-", 206, ["Content-Range: bytes 100-199/*"], "refuse: complete-length-unknown"),
            ("-50", 206, ["Content-Range: bytes 249950-249999/250000"], "start 0+0..<50: first-request"),
            ("-50", 206, ["Content-Range: bytes 249960-249999/250000"], "refuse: range-gap"),
            ("100-199", 206, ["Content-Range: bytes 101-199/250000"], "refuse: range-gap"),
            ("100-199", 206, ["Content-Range: bytes 0-99/250000"], "refuse: range-without-progress"),
            ("100-199,300000-", 206, ["Content-Range: bytes 100-199/250000"], "refuse: range-beyond-end"),
            ("100-199", 206, [], "refuse: content-range-invalid"),
            ("0-9,20-29", 206, ["Content-Range: bytes 0-9/250000"], "refuse: ranges-need-validator"),
            ("0-9,20-29", 200, ["Content-Length: 250000"], "refuse: ranges-need-validator"),
            ("0-9,20-29", 206, ["Content-Range: bytes 0-9/250000", "ETag: \"a\""], "start 0+0..<10: first-request"),
            ("100-199", 206, ["Content-Type: multipart/byteranges; boundary=x"], "refuse: multipart-answer"),
            (
                "100-199", 206, ["Content-Range: bytes 100-199/250000", "Content-Encoding: gzip"],
                "refuse: content-coded"
            ),
            ("100-199", 416, ["Content-Range: bytes */50"], "refuse: range-beyond-end"),
            ("100-199", 200, ["Content-Length: 250000"], "start 100+0..<100: first-request"),
            ("100-", 200, ["Content-Length: 250000"], "start 100+0..<249900: first-request"),
            ("-50", 200, ["Content-Length: 250000"], "start 249950+0..<50: first-request"),
            ("-50", 200, ["Transfer-Encoding: chunked"], "refuse: complete-length-unknown"),
            ("100-199", 200, ["Transfer-Encoding: chunked"], "start 100+0..<100: first-request"),
            ("100-199", 200, ["Content-Length: 100"], "refuse: range-beyond-end"),
            ("100-199", 404, [], "refuse: status-404"),
        ] as [(String, Int, [String], String)])
    func firstAnswers(text: String, status: Int, lines: [String], expected: String) {
        #expect(Self.judge(text, 0, status, lines) == expected)
    }

    @Test(
        "The verdict on the answer to the rest of a range",
        arguments: [
            (
                206, ["ETag: \"a\"", "Content-Range: bytes 46004-99999/250000"],
                "append 45904..<99900 at 50000: resumed"
            ),
            (206, ["ETag: \"a\"", "Content-Range: bytes 0-249999/250000"], "append 0..<99900 at 50000: resumed"),
            (206, ["ETag: \"b\"", "Content-Range: bytes 46004-99999/250000"], "ask for whole: entity-tag-changed"),
            (206, ["ETag: \"a\"", "Content-Range: bytes 46004-99999/250001"], "retry later: tag-contradiction"),
            (206, ["ETag: \"a\"", "Content-Range: bytes 60000-99999/250000"], "ask for whole: range-gap"),
            (206, ["ETag: \"a\"", "Content-Range: bytes 46004-50099/250000"], "ask for whole: range-without-progress"),
            (200, ["ETag: \"a\"", "Content-Length: 250000"], "append 0..<99900 at 50000: prefix-kept"),
            (200, ["ETag: \"a\"", "Transfer-Encoding: chunked"], "append 0..<99900 at 50000: prefix-kept"),
            (200, ["ETag: \"b\"", "Content-Length: 250000"], "ask for whole: entity-tag-changed"),
            (416, ["Content-Range: bytes */50"], "ask for whole: range-not-satisfiable"),
            (412, [], "ask for whole: precondition-failed"),
        ] as [(Int, [String], String)])
    func laterAnswers(status: Int, lines: [String], expected: String) {
        #expect(Self.judge("100-99999", 50_000, status, lines) == expected)
    }

    /// Judges an answer for partial data without a validator, which the caller allows.
    private static func unvalidated(_ text: String, _ length: Int64, _ lines: [String]) -> (
        plan: Plan, verdict: Verdict
    ) {
        var held = held(text, length)
        held.representation?.entityTag = nil
        let policy = ResumePolicy(allowsUnvalidated: true)
        let plan = Plan(for: held, policy: policy)
        return (plan, Verdict(for: response(200, lines), to: plan, held: held, policy: policy))
    }

    @Test("Without a validator a range is continued only if enough of it is stored for comparison")
    func unvalidatedOverlap() {
        let enough = Self.unvalidated("100-199999", 100_000, ["Content-Length: 250000"])
        #expect(enough.plan.fields[.range] == "bytes=34564-199999")
        // The whole file contains the wanted bytes as well, but the range is fetched from its beginning: that costs
        // less.
        #expect(enough.verdict.summary == "ask for whole: no-validator")
        #expect(Self.unvalidated("100-199999", 1000, []).plan.firstReason == "too-little-held")
    }

    @Test("If the stored bytes do not fit the ranges, the ranges restart")
    func misfit() {
        func reason(_ text: String, _ length: Int64, complete: Int64?) -> String? {
            var held = Self.held(text, length)
            held.representation?.completeLength = complete
            return Plan(for: held).firstReason
        }
        // A suffix has no offset before the length is known, and a range past the end never has one.
        #expect(reason("-500", 100, complete: nil) == "complete-length-unknown")
        #expect(reason("9000-9999", 100, complete: 5000) == "range-beyond-end")
        #expect(reason("0-99", 200, complete: 5000) == "more-held-than-wanted")
    }

    @Test("D06: a portal's page in place of the rest of a range leaves stored bytes alone")
    func portal() {
        var held = Self.held("100-99999", 50_000)
        held.representation?.contentType = "application/zip"
        let page = response(200, ["Content-Type: text/html", "Content-Length: 500"])
        #expect(Verdict(for: page, to: Plan(for: held), held: held).summary == "retry later: portal-suspected")
    }

    @Test("Several ranges of a file without a validator need a digest of the whole")
    func severalUnvalidated() {
        let held = HeldPartial(representation: nil, length: 0, selection: RangeSelection("0-9,20-29"))
        for hasDigest in [false, true] {
            let policy = ResumePolicy(allowsUnvalidated: true, digest: hasDigest ? HTTPDigest(.sha256, of: []) : nil)
            let verdict = Verdict(
                for: response(200, ["Content-Length: 250000"]), to: Plan(for: held, policy: policy), held: held,
                policy: policy)
            #expect(
                verdict.summary == (hasDigest ? "start 0+0..<10: first-request" : "refuse: ranges-need-validator"))
        }
    }
}
