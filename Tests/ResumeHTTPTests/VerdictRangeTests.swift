import HTTPTypes
import ResumeHTTP
import Testing

/// 206 answers to `bytes=95904-` with `If-Range`, with 100,000 of 250,000 bytes stored.
@Suite(.timeLimit(.minutes(5)))
struct VerdictRangeTests {
    static let resumed = "append 95904..<250000 at 100000: resumed"
    static let tag = "ETag: \"a\""
    static let range = Fixture.contentRange

    @Test(
        "B, T1, T2: a part is used only with the stored entity tag",
        arguments: [
            Answer("B01", [tag, range], resumed),
            Answer("B02: 206 of a new representation is never spliced", ["ETag: \"b\"", range], "entity-tag-changed"),
            Answer("B02: nor is one whose case differs", ["ETag: \"A\"", range], "entity-tag-changed"),
            Answer("B03: without the tag", [range], "validator-missing"),
            Answer("B03: a date is no substitute", [range, "Last-Modified: \(Fixture.modified)"], "validator-missing"),
            Answer("B04: with the tag made weak", ["ETag: W/\"a\"", range], "entity-tag-altered"),
            Answer("B05: a date that only the answer has", [tag, range, "Last-Modified: \(Fixture.sent)"], resumed),
            Answer("B06, G10", [tag, "Content-Range: bytes 95904-249998/249999"], "retry later: tag-contradiction"),
            Answer("B06: longer", [tag, "Content-Range: bytes 95904-249999/250001"], "retry later: tag-contradiction"),
            Answer("B11", [tag, "ETag: \"b\"", range], "validator-missing"),
            Answer("B11: merged", ["ETag: \"a\", \"b\"", range], "validator-missing"),
            Answer("B12", [tag, tag, range], resumed),
            Answer("B18", [tag, range, "Content-Location: /elsewhere"], resumed),
            Answer("B19", ["ETag: \t \"a\"\t ", range], resumed),
            Answer("A12: unquoted", ["ETag: a", range], "entity-tag-altered"),
            Answer("G04: suffix", ["ETag: \"a-gzip\"", range], "entity-tag-altered"),
            Answer("I12: a portal's page", ["Content-Type: text/html"], "content-range-invalid"),
            Answer("M05", [tag, range, "Vary: Accept, *"], resumed),
            Answer("A20", [tag, range, "Vary: Accept-Encoding"], resumed),
        ])
    func tagged(answer: Answer) {
        expect(Fixture.judge(206, answer.lines), answer)
    }

    /// Fields that show that the same entity tag is of another state, and fields that do not.
    static let contradictions = [
        Answer("another date", ["Last-Modified: \(Fixture.sent)"], "validators-disagree"),
        Answer("another type", ["Content-Type: text/html"], "content-type-changed"),
        Answer("the same date", ["Last-Modified: \(Fixture.modified)"], "resumed"),
        Answer("in another form", ["Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT"], "resumed"),
        Answer("neither", [], "resumed"),
    ]
    private static let full = Fixture.held {
        $0.lastModified = Fixture.modified
        $0.contentType = "application/octet-stream"
    }

    @Test(
        "B05: an entity tag that other fields contradict proves nothing; fields missing in a 206 do not contradict",
        arguments: contradictions)
    func contradicted(answer: Answer) {
        let part = Fixture.judge(206, [Self.tag, Self.range] + answer.lines, held: Self.full)
        #expect(part.reasonCode == answer.expected)
        if case .askForWhole = part {} else { #expect(answer.expected == "resumed") }
        let whole = Fixture.judge(200, [Self.tag, "Content-Length: 250000"] + answer.lines, held: Self.full)
        #expect(whole.reasonCode == (answer.expected == "resumed" ? "prefix-kept" : answer.expected))
        if case .startOver = whole {} else { #expect(answer.expected == "resumed") }
    }

    @Test(
        "C, T3, T4: Content-Range decides where bytes belong",
        arguments: [
            Answer("C01: a gap", [tag, "Content-Range: bytes 100001-249999/250000"], "range-gap"),
            Answer(
                "C02", [tag, "Content-Range: bytes 65536-249999/250000"], "append 65536..<250000 at 100000: resumed"),
            Answer("C02: all", [tag, "Content-Range: bytes 0-249999/250000"], "append 0..<250000 at 100000: resumed"),
            Answer("nothing to compare", [tag, "Content-Range: bytes 100000-249999/250000"], "range-gap"),
            Answer("a byte less to compare", [tag, "Content-Range: bytes 95905-249999/250000"], "range-gap"),
            Answer("C03", [tag, "Content-Range: bytes 95904-99999/250000"], "range-without-progress"),
            Answer("C04", [tag, "Content-Range: bytes 99999-60000/250000"], "content-range-invalid"),
            Answer("C05", [tag, "Content-Range: bytes 95904-249999/249999"], "content-range-invalid"),
            Answer("C06", [tag, "Content-Range: bytes 95904-249999/*"], resumed),
            Answer("C07", [tag, "Content-Range: items 95904-249999/250000"], "content-range-invalid"),
            Answer("C08, C09, T4: none", [tag, "Content-Length: 250000"], "content-range-invalid"),
            Answer("C10", [tag, "Content-Range: bytes=95904-249999/250000"], "content-range-invalid"),
            Answer("C11", [tag, "Content-Range: bytes 95904-18446744073709551616/*"], "content-range-invalid"),
            Answer("C12", [tag, range, "Content-Range: bytes 0-9/250000"], "content-range-invalid"),
            Answer("C13", [tag, "Content-Range: BYTES 95904-249999/250000"], resumed),
            Answer(
                "C14, T5", [tag, "Content-Range: bytes 95904-119999/250000"], "append 95904..<120000 at 100000: resumed"
            ),
            Answer(
                "C14: a byte", [tag, "Content-Range: bytes 95904-100000/250000"],
                "append 95904..<100001 at 100000: resumed"),
            Answer("C15, C19", [tag, range, "Content-Length: 100"], resumed),
            Answer("C16: past the known end", [tag, "Content-Range: bytes 95904-250000/*"], "content-range-invalid"),
            Answer("C17, C18", [tag, range, "Content-Type: multipart/byteranges; boundary=x"], "multipart-answer"),
            Answer("C17: any case", [tag, range, "Content-Type: Multipart/ByteRanges;boundary=x"], "multipart-answer"),
            Answer("C23", [tag, "Content-Range: bytes 0--1/0"], "content-range-invalid"),
            Answer("*/T in a 206", [tag, "Content-Range: bytes */250000"], "content-range-invalid"),
        ])
    func positions(answer: Answer) {
        expect(Fixture.judge(206, answer.lines), answer)
    }

    @Test(
        "B07 to B10: a part is used only with exactly the stored date",
        arguments: [
            Answer("B07", ["Last-Modified: \(Fixture.modified)", range], resumed),
            Answer(
                "B07: whatever Date says now",
                ["Last-Modified: \(Fixture.modified)", "Date: \(Fixture.modified)", range], resumed),
            Answer("B07: a tag beside it", ["Last-Modified: \(Fixture.modified)", "ETag: \"x\"", range], resumed),
            Answer("B08", ["Last-Modified: \(Fixture.sent)", range], "last-modified-changed"),
            Answer(
                "B08: other form", ["Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT", range], "last-modified-changed"),
            Answer("B09", [range], "validator-missing"),
            Answer(
                "B09: two", ["Last-Modified: \(Fixture.modified)", "Last-Modified: \(Fixture.sent)", range],
                "validator-missing"),
            Answer(
                "B10", ["Last-Modified: \(Fixture.modified)", "Content-Range: bytes 95904-249999/260000"],
                "length-changed"),
        ])
    func dated(answer: Answer) {
        expect(Fixture.judge(206, answer.lines, held: Fixture.dated), answer)
    }

    @Test(
        "G, T12: a coded part is refused for its coding alone",
        arguments: [
            Answer("G01", [tag, range, "Content-Encoding: gzip"], "content-coded"),
            Answer("G02: br", [tag, range, "Content-Encoding: br"], "content-coded"),
            Answer("G02: unknown", [tag, range, "Content-Encoding: X-Mine"], resumed),
            Answer("G02: in a list", [tag, range, "Content-Encoding: identity, GZIP"], "content-coded"),
            Answer(
                "G02: second line", [tag, range, "Content-Encoding: identity", "Content-Encoding: zstd"],
                "content-coded"),
            Answer("G06", [tag, range, "Content-Encoding: Identity"], resumed),
            Answer("G06: empty", [tag, range, "Content-Encoding:"], resumed),
            Answer("G06: empty list", [tag, range, "Content-Encoding: ,\t, identity ,"], resumed),
        ])
    func coded(answer: Answer) {
        expect(Fixture.judge(206, answer.lines), answer)
    }

    @Test("B16: another content type is a different file; parameters and a missing type are not")
    func contentType() {
        let held = Fixture.held { $0.contentType = "Application/Octet-Stream; x=1" }
        let judge = { (type: String) in Fixture.judge(206, [Self.tag, Self.range, type], held: held).summary }
        #expect(judge("Content-Type: text/html") == "ask for whole: content-type-changed")
        #expect(judge("Content-Type: application/octet-stream") == Self.resumed)
        #expect(judge("X-None: 1") == Self.resumed)
    }

    @Test("B17: a different Repr-Digest is another representation; a new one is not")
    func digest() {
        let (zeros, ones) = (
            "sha-256=:\(String(repeating: "A", count: 43))=:", "sha-256=:\(String(repeating: "/", count: 42))8=:"
        )
        let held = Fixture.held { $0.reprDigest = zeros }
        let judge = { (line: String) in Fixture.judge(206, [Self.tag, Self.range, line], held: held).summary }
        #expect(judge("Repr-Digest: \(ones)") == "ask for whole: digest-changed")
        #expect(judge("Repr-Digest: md5=:AAAA:, \(zeros)") == Self.resumed)
        #expect(judge("X-None: 1") == Self.resumed)
        #expect(Fixture.judge(206, [Self.tag, Self.range, "Repr-Digest: \(ones)"]).summary == Self.resumed)
    }

    @Test("M05: a date does not identify bytes that depend on more than the request")
    func varyTab() {
        let lines = ["Last-Modified: \(Fixture.modified)", Self.range, "Vary: Accept,\t*"]
        #expect(Fixture.judge(206, lines, held: Fixture.dated).summary == "ask for whole: varies-always")
    }

    private func expect(_ verdict: Verdict, _ answer: Answer) {
        let isRefusal = !answer.expected.contains(":")
        #expect(verdict.summary == (isRefusal ? "ask for whole: \(answer.expected)" : answer.expected))
        if isRefusal { #expect(verdict.representation == nil, "nothing that is held changes") }
    }
}
