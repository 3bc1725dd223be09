import HTTPTypes
import ResumeHTTP
import Testing

/// What a 206 reveals, and parts that were not requested.
@Suite(.timeLimit(.minutes(5)))
struct VerdictLengthTests {
    private static let tag = "ETag: \"a\""
    private static let unknown = Fixture.held { $0.completeLength = nil }

    @Test("A file of another length than the caller knows is refused by its head; a guess is no announcement")
    func known() {
        let policy = ResumePolicy(completeLength: Fixture.total)
        func summary(_ code: Int, _ lines: [String], _ held: HeldPartial = Fixture.tagged) -> String {
            Fixture.judge(code, [Self.tag] + lines, held: held, policy: policy).summary
        }
        let none = HeldPartial(representation: nil, length: 0)
        #expect(summary(200, ["Content-Length: 500"], none) == "refuse: other-length")
        #expect(summary(200, ["Content-Length: \(Fixture.total)"], none) == "start over: first-request")
        let untold = Fixture.judge(200, [Self.tag], held: none, policy: policy)
        #expect(untold.summary == "start over: first-request" && untold.representation?.completeLength == nil)
        #expect(summary(206, [Fixture.contentRange]) == "append 95904..<250000 at 100000: resumed")
        #expect(summary(206, ["Content-Range: bytes 95904-119999/130000"], Self.unknown) == "refuse: other-length")
        #expect(summary(500, ["Content-Length: 500"]) == "retry later: status-500")
    }

    @Test("C06, J03: a part reveals the length; one without a length does not erase it")
    func learned() {
        let told = Fixture.judge(206, [Self.tag, "Content-Range: bytes 95904-119999/130000"], held: Self.unknown)
        #expect(told.summary == "append 95904..<120000 at 100000: resumed")
        #expect(told.representation?.completeLength == 130_000)
        let untold = Fixture.judge(206, [Self.tag, "Content-Range: bytes 95904-119999/*"], held: Self.unknown)
        #expect(untold.summary == "append 95904..<120000 at 100000: resumed")
        #expect(untold.representation?.completeLength == nil)
        let kept = Fixture.judge(206, [Self.tag, "Content-Range: bytes 95904-119999/*"])
        #expect(kept.representation?.completeLength == Fixture.total)
    }

    @Test("A15: everything was stored without a known length; only the overlap is received and compared")
    func allHeld() {
        let verdict = Fixture.judge(206, [Self.tag, "Content-Range: bytes 95904-99999/100000"], held: Self.unknown)
        #expect(verdict.summary == "append 95904..<100000 at 100000: resumed")
        #expect(verdict.representation?.completeLength == Fixture.length)
        let open = Fixture.judge(206, [Self.tag, "Content-Range: bytes 95904-99999/*"], held: Self.unknown)
        #expect(open.summary == "ask for whole: range-without-progress")
    }

    @Test("E02: the known tag with a length below the stored bytes is a failure for now")
    func shrunk() {
        let lines = [Self.tag, "Content-Range: bytes 95904-98999/99000"]
        #expect(Fixture.judge(206, lines, held: Self.unknown).summary == "retry later: tag-contradiction")
        let untold = [Self.tag, "Content-Range: bytes 95904-98999/*"]
        #expect(Fixture.judge(206, untold, held: Self.unknown).summary == "ask for whole: range-without-progress")
    }

    @Test("M06: the fields of the first response are kept, whatever the part says")
    func fieldsKept() {
        let held = Fixture.held {
            $0.lastModified = Fixture.modified
            $0.date = Fixture.sent
            $0.contentType = "text/plain"
        }
        let verdict = Fixture.judge(
            206,
            [
                Self.tag, Fixture.contentRange, "Last-Modified: Sunday, 06-Nov-94 08:49:37 GMT",
                "Date: Mon, 01 Jan 2001 00:00:00 GMT",
                "Content-Type: text/plain; charset=utf-8", "Accept-Ranges: none",
            ], held: held)
        #expect(verdict.representation == held.representation)
    }

    @Test("A16: the limits of 64 bits")
    func boundaries() {
        let last = Int64.max - 1
        let held = Fixture.held(length: last) { $0.completeLength = nil }
        let lines = [Self.tag, "Content-Range: bytes \(last - 4096)-\(last)/\(Int64.max)"]
        let verdict = Fixture.judge(206, lines, held: held)
        #expect(verdict.summary == "append \(last - 4096)..<\(Int64.max) at \(last): resumed")
        #expect(verdict.representation?.completeLength == .max)
        let over = Fixture.judge(206, [Self.tag, "Content-Range: bytes \(last - 4096)-\(Int64.max)/*"], held: held)
        #expect(over.summary == "ask for whole: content-range-invalid")
    }

    @Test("A22: a row that claims more than the whole file asks again, and is never complete")
    func moreThanAll() {
        let held = Fixture.held(length: 300_000) { _ in }
        for range in ["bytes 295904-299999/250000", "bytes 0-249999/250000", "bytes 295904-300000/*"] {
            let verdict = Fixture.judge(206, [Self.tag, "Content-Range: \(range)"], held: held)
            if case .askForWhole = verdict { continue }
            Issue.record("\(range): \(verdict.summary)")
        }
    }

    @Test("A22: a whole answer does not continue partial data that is longer than it")
    func wholeShorterThanHeld() {
        let held = Fixture.held(length: 300_000) { _ in }
        for framing in ["Content-Length: 250000", "Transfer-Encoding: chunked"] {
            #expect(Fixture.judge(200, [Self.tag, framing], held: held).summary.hasPrefix("start over"))
        }
    }

    @Test("C17: multiple parts are not taken for one if the type is sent twice")
    func twoContentTypes() {
        let lines = [Self.tag, Fixture.contentRange, "Content-Type: multipart/byteranges; boundary=x"]
        let verdict = Fixture.judge(206, lines + ["Content-Type: application/zip"])
        #expect(verdict.summary == "ask for whole: multipart-answer")
    }

    @Test("C20: a part that was not requested is refused")
    func unsolicited() {
        let lines = [Self.tag, "Content-Range: bytes 0-249999/250000"]
        let none = HeldPartial(representation: nil, length: 0)
        #expect(Fixture.judge(206, lines, held: none).summary == "refuse: unsolicited-range")
        let weak = Fixture.held { $0.entityTag = EntityTag(rawValue: "W/\"a\"") }
        #expect(Fixture.judge(206, lines, held: weak).summary == "refuse: unsolicited-range")
        let whole = Verdict(for: response(206, lines), to: .whole(reason: nil), held: Fixture.tagged)
        #expect(whole.summary == "refuse: unsolicited-range")
        #expect(
            Verdict(for: response(206, lines), to: .complete, held: Fixture.tagged).summary
                == "refuse: unsolicited-range")
    }

    @Test("B15: a tag that looks like a digest is compared, not interpreted")
    func multipartTag() {
        let text = "\"9bb58f26192e4ba00f01e2e7b136bbd8-2\""
        let held = Fixture.held { $0.entityTag = EntityTag(rawValue: text) }
        let verdict = Fixture.judge(206, ["ETag: \(text)", Fixture.contentRange], held: held)
        #expect(verdict.summary == VerdictRangeTests.resumed)
    }

    @Test("A10: tags with obs-text are compared by their bytes")
    func obsText() {
        let held = Fixture.held { $0.entityTag = EntityTag([0x22, 0xE9, 0x80, 0x22]) }
        let same = Fixture.judge(206, ["ETag: \"\u{E9}\u{80}\"", Fixture.contentRange], held: held)
        #expect(same.summary == VerdictRangeTests.resumed)
        // The same characters in UTF-8.
        let other = Fixture.judge(206, ["ETag: \"\u{C3}\u{A9}\u{C2}\u{80}\"", Fixture.contentRange], held: held)
        #expect(other.summary == "ask for whole: entity-tag-changed")
    }

    @Test("T17: the verdict depends only on the stored data and the answer")
    func pure() {
        let head = response(206, [Self.tag, Fixture.contentRange])
        let verdicts = (0..<3).map { _ in Verdict(for: head, to: Plan(for: Fixture.tagged), held: Fixture.tagged) }
        #expect(Set(verdicts).count == 1)
    }
}
