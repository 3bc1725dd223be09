import HTTPTypes
import ResumeHTTP
import Testing

/// 200 and 203 answers while 100,000 of 250,000 bytes are stored.
@Suite(.timeLimit(.minutes(5)))
struct VerdictWholeTests {
    static let kept = "append 0..<250000 at 100000: prefix-kept"

    @Test(
        "D, T9, T10: a whole body is never appended to stored bytes",
        arguments: [
            Answer("D01, T10: unchanged", ["ETag: \"a\"", "Content-Length: 250000"], kept),
            Answer(
                "C21", ["ETag: \"a\"", "Content-Length: 250000", "Content-Range: bytes 100000-249999/250000"],
                "ask for whole: range-gap"),
            Answer(
                "C21: from the requested byte",
                ["ETag: \"a\"", "Content-Length: 154096", "Content-Range: bytes 95904-249999/250000"],
                "append 95904..<250000 at 100000: resumed"),
            Answer(
                "C21: all of it", ["ETag: \"a\"", "Content-Length: 250000", "Content-Range: bytes 0-249999/250000"],
                kept),
            Answer("D02", ["ETag: \"b\"", "Content-Length: 250000"], "start over: entity-tag-changed"),
            Answer("D03", ["Content-Length: 250000"], "start over: validator-missing"),
            Answer("D04", ["ETag: \"b\"", "Content-Length: 100000"], "start over: entity-tag-changed"),
            Answer("D04: same tag", ["ETag: \"a\"", "Content-Length: 100000"], "retry later: tag-contradiction"),
            Answer("D04: no tag", ["Content-Length: 100000"], "retry later: file-shrunk"),
            Answer("nothing", ["ETag: \"b\"", "Content-Length: 0"], "retry later: file-shrunk"),
            Answer("B06", ["ETag: \"a\"", "Content-Length: 250001"], "retry later: tag-contradiction"),
            Answer("B04", ["ETag: W/\"a\"", "Content-Length: 250000"], "start over: validator-missing"),
            Answer("B11", ["ETag: \"a\"", "ETag: \"b\"", "Content-Length: 250000"], "start over: validator-missing"),
            Answer("D07", ["ETag: \"a\"", "Transfer-Encoding: chunked"], kept),
            Answer("D08: the length is that of the same representation", ["ETag: \"a\""], kept),
            Answer(
                "F07", ["ETag: \"a\"", "Content-Length: 250000", "Transfer-Encoding: chunked"], kept
            ),
            Answer("M05", ["ETag: \"a\"", "Content-Length: 250000", "Vary: *"], kept),
            Answer(
                "G03, T12", ["ETag: \"a\"", "Content-Length: 250000", "Content-Encoding: gzip"], "refuse: content-coded"
            ),
            Answer("G07", ["ETag: \"b\"", "Content-Encoding: br"], "refuse: content-coded"),
            Answer("G07: no coding", ["ETag: \"a\"", "Content-Length: 250000", "Content-Encoding: UTF-8"], kept),
            Answer("G06", ["ETag: \"a\"", "Content-Length: 250000", "Content-Encoding: identity"], kept),
        ])
    func tagged(answer: Answer) {
        #expect(Fixture.judge(200, answer.lines).summary == answer.expected)
    }

    @Test("D01: the fields of the new answer are reported from now on")
    func freshFields() {
        let lines = ["ETag: \"a\"", "Content-Length: 250000", "Content-Type: text/plain", "Accept-Ranges: none"]
        let verdict = Fixture.judge(200, lines)
        #expect(verdict.summary == Self.kept)
        #expect(verdict.representation == Representation(fields: headerFields(lines)))
        let other = ["ETag: \"b\"", "Content-Length: 7"]
        #expect(Fixture.judge(200, other).representation == Representation(fields: headerFields(other)))
    }

    @Test("D04: without a known length, a whole answer shorter than the stored bytes is a contradiction")
    func unknownLength() {
        let held = Fixture.held { $0.completeLength = nil }
        let judge = { (length: Int64) in
            Fixture.judge(200, ["ETag: \"a\"", "Content-Length: \(length)"], held: held).summary
        }
        #expect(judge(100_001) == "append 0..<100001 at 100000: prefix-kept")
        #expect(judge(100_000) == "append 0..<100000 at 100000: prefix-kept")
        #expect(judge(99_999) == "retry later: tag-contradiction")
        let chunked = Fixture.judge(200, ["ETag: \"a\"", "Transfer-Encoding: chunked"], held: held)
        #expect(chunked.summary == "append 0..<? at 100000: prefix-kept")
    }

    @Test("B07: a date alone does not preserve the prefix")
    func dated() {
        let lines = ["Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)", "Content-Length: 250000"]
        #expect(Fixture.judge(200, lines, held: Fixture.dated).summary == "start over: whole-sent")
        let changed = [
            "Last-Modified: \(Fixture.sent)", "Date: Mon, 07 Nov 1994 08:49:38 GMT", "Content-Length: 250000",
        ]
        #expect(Fixture.judge(200, changed, held: Fixture.dated).summary == "start over: last-modified-changed")
    }

    @Test("Promise 10: a whole answer of the same length is not reported as one of another length")
    func reasonText() {
        let lines = ["Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)", "Content-Length: 250000"]
        let dated = Fixture.judge(200, lines, held: Fixture.dated)
        let chunked = Fixture.judge(200, ["ETag: \"a\"", "Transfer-Encoding: chunked"])
        #expect(!dated.reason.text.contains("length does not match"))
        #expect(!chunked.reason.text.contains("length does not match"))
    }

    @Test("D10, T40: 203 is never resumed, now or later")
    func nonAuthoritative() {
        let lines = [
            "ETag: \"a\"", "Content-Length: 250000", "Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)",
        ]
        let verdict = Fixture.judge(203, lines)
        #expect(verdict.summary == "start over: validator-missing")
        #expect(verdict.representation?.validator == nil)
        #expect(
            Fixture.judge(203, lines, held: HeldPartial(representation: nil, length: 0)).representation?.validator
                == nil)
    }

    @Test("M05: a response sent with Vary: * is resumed with an entity tag, not with a date")
    func variesAlways() {
        let nothing = HeldPartial(representation: nil, length: 0)
        let lines = ["ETag: \"a\"", "Content-Length: 9", "Last-Modified: \(Fixture.modified)", "Date: \(Fixture.sent)"]
        let verdict = Fixture.judge(200, lines + ["Vary: *"], held: nothing)
        #expect(verdict.representation?.validator == EntityTag(rawValue: "\"a\"").map { .entityTag($0) })
        let dated = Fixture.judge(200, Array(lines.dropFirst()) + ["Vary: *"], held: nothing)
        #expect(dated.representation?.validator == nil)
        #expect(verdict.representation?.completeLength == 9)
        #expect(Fixture.judge(200, lines + ["Vary: Origin"], held: nothing).representation?.validator != nil)
    }

    @Test("D06, H16: a page in place of a file is a failure for now, and stored bytes stay")
    func portal() {
        let held = Fixture.held { $0.contentType = "application/octet-stream" }
        let page = ["Content-Type: text/html; charset=utf-8", "Content-Length: 500"]
        #expect(Fixture.judge(200, page, held: held).summary == "retry later: portal-suspected")
        #expect(Fixture.judge(203, page, held: held).summary == "retry later: portal-suspected")
        #expect(Fixture.judge(200, page + ["ETag: \"b\""], held: held).summary == "retry later: portal-suspected")
        let html = Fixture.held { $0.contentType = "text/html" }
        #expect(Fixture.judge(200, page, held: html).summary == "retry later: file-shrunk")
        // The type is unknown, or nothing could be resumed anyway.
        #expect(Fixture.judge(200, page).summary == "retry later: file-shrunk")
        let weak = Fixture.held {
            $0.contentType = "application/zip"
            $0.entityTag = nil
        }
        #expect(Fixture.judge(200, page, held: weak).summary == "retry later: portal-suspected")
    }

    @Test("A01, A14: the first answer")
    func first() {
        let nothing = HeldPartial(representation: nil, length: 0)
        let lines = ["ETag: \"a\"", "Content-Length: 9"]
        let verdict = Fixture.judge(200, lines, held: nothing)
        #expect(verdict.summary == "start over: first-request")
        #expect(verdict.representation == Representation(fields: headerFields(lines)))
        let noByte = Fixture.held(length: 0) { _ in }
        #expect(Fixture.judge(200, lines, held: noByte).summary == "start over: first-request")
        #expect(Fixture.judge(200, ["Content-Encoding: gzip"], held: nothing).summary == "refuse: content-coded")
    }

    @Test("E07, J01: zero bytes are a whole file")
    func empty() {
        let nothing = HeldPartial(representation: nil, length: 0)
        let verdict = Fixture.judge(200, ["Content-Length: 0"], held: nothing)
        #expect(HeldPartial(representation: verdict.representation, length: 0).isComplete)
    }

    @Test("The reason for requesting the whole file is the reason for the restart")
    func reasonOfPlan() {
        let weak = Fixture.held { $0.entityTag = EntityTag(rawValue: "W/\"a\"") }
        let lines = ["ETag: W/\"a\"", "Content-Length: 250000"]
        #expect(Fixture.judge(200, lines, held: weak).summary == "start over: weak-entity-tag")
        let plan = Plan(for: Fixture.tagged, avoidsRange: .restartRequested)
        let unknown = Fixture.held { $0.completeLength = nil }
        let chunked = Verdict(for: response(200, ["ETag: \"a\""]), to: plan, held: unknown)
        #expect(chunked.summary == "append 0..<? at 100000: prefix-kept")
        let changed = Verdict(for: response(200, ["ETag: \"b\""]), to: plan, held: Fixture.tagged)
        #expect(changed.summary == "start over: entity-tag-changed")
        let same = Verdict(
            for: response(200, ["ETag: \"a\"", "Content-Length: 250000"]), to: plan, held: Fixture.tagged)
        #expect(same.summary == Self.kept)
    }

    @Test("Promise 10: a download continued without a validator restarts because it has none")
    func unvalidated() {
        let held = Fixture.held { $0.entityTag = EntityTag(rawValue: "W/\"a\"") }
        let policy = ResumePolicy(allowsUnvalidated: true)
        let plan = Plan(for: held, policy: policy)
        #expect(plan.fields[.range] == "bytes=34464-")
        let whole = response(200, ["ETag: W/\"b\"", "Content-Length: 250000"])
        let verdict = Verdict(for: whole, to: plan, held: held, policy: policy)
        #expect(verdict.summary == "start over: weak-entity-tag")
    }

    @Test("A reason within a longer sentence has no full stop")
    func clause() {
        for text in ["the file is gone.", "the file is gone"] {
            #expect(Reason(code: "gone", text: text).clause == "the file is gone")
        }
    }
}
