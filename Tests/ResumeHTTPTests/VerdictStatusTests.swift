import HTTPTypes
import ResumeHTTP
import Testing

/// Answers that carry no byte of the file.
@Suite(.timeLimit(.minutes(5)))
struct VerdictStatusTests {
    private static let nothing = HeldPartial(representation: nil, length: 0)

    @Test(
        "E, T6: a 416 to a range that begins inside the file completes nothing",
        arguments: [
            Answer("E01: inside", ["Content-Range: bytes */100000", "ETag: \"a\""], "range-not-satisfiable"),
            Answer("E01: nginx sends no tag", ["Content-Range: bytes */100000"], "range-not-satisfiable"),
            Answer("E02", ["Content-Range: bytes */99999", "ETag: \"a\""], "range-not-satisfiable"),
            Answer("E03", ["Content-Range: bytes */250000", "ETag: \"a\""], "range-not-satisfiable"),
            Answer("E04", [], "range-not-satisfiable"),
            Answer("E04: tag only", ["ETag: \"a\""], "range-not-satisfiable"),
            Answer("E05", ["Content-Type: text/html", "Content-Length: 197"], "range-not-satisfiable"),
            Answer("E06", ["Content-Range: bytes */100000", "ETag: \"b\""], "range-not-satisfiable"),
            Answer("E06: weak", ["Content-Range: bytes */100000", "ETag: W/\"a\""], "range-not-satisfiable"),
            Answer(
                "C12", ["Content-Range: bytes */100000", "Content-Range: bytes */9", "ETag: \"a\""],
                "range-not-satisfiable"),
            Answer("C11", ["Content-Range: bytes */99999999999999999999", "ETag: \"a\""], "range-not-satisfiable"),
            Answer("a range", ["Content-Range: bytes 0-99999/100000", "ETag: \"a\""], "range-not-satisfiable"),
        ])
    func unsatisfied(answer: Answer) {
        let held = Fixture.held { $0.completeLength = nil }
        #expect(Fixture.judge(416, answer.lines, held: held).summary == "ask for whole: \(answer.expected)")
    }

    @Test(
        "E01: a 416 to a range that begins at the end completes the file if length and validator agree",
        arguments: [
            (["Content-Range: bytes */100000", "ETag: \"a\""], "complete: resumed"),
            (["Content-Range: bytes */100000", "ETag: \"b\""], "ask for whole: range-not-satisfiable"),
            (["Content-Range: bytes */99999", "ETag: \"a\""], "ask for whole: range-not-satisfiable"),
            (["Content-Range: bytes */100000"], "ask for whole: range-not-satisfiable"),
        ])
    func atTheEnd(lines: [String], expected: String) {
        let held = Fixture.held { $0.completeLength = nil }
        let policy = ResumePolicy(overlap: 0)
        let plan = Plan(for: held, policy: policy)
        let verdict = Verdict(for: response(416, lines), to: plan, held: held, policy: policy)
        #expect(verdict.summary == expected)
        if expected == "complete: resumed" { #expect(verdict.representation?.completeLength == Fixture.length) }
    }

    @Test("E06: with a known length, a 416 with a shorter one completes nothing")
    func contradiction() {
        let verdict = Fixture.judge(416, ["Content-Range: bytes */100000", "ETag: \"a\""])
        #expect(verdict.summary == "ask for whole: range-not-satisfiable")
    }

    @Test("E01: a date counts as well")
    func dated() {
        var held = Fixture.dated
        held.representation?.completeLength = nil
        let lines = ["Content-Range: bytes */100000", "Last-Modified: \(Fixture.modified)"]
        let policy = ResumePolicy(overlap: 0)
        let plan = Plan(for: held, policy: policy)
        #expect(Verdict(for: response(416, lines), to: plan, held: held, policy: policy).summary == "complete: resumed")
        let later = ["Content-Range: bytes */100000", "Last-Modified: \(Fixture.sent)"]
        #expect(Fixture.judge(416, later, held: held).summary == "ask for whole: range-not-satisfiable")
    }

    @Test("E09: a 416 to a request for the whole is an error")
    func wholeUnsatisfied() {
        let lines = ["Content-Range: bytes */0"]
        #expect(Fixture.judge(416, lines, held: Self.nothing).summary == "refuse: status-416")
        let whole = Verdict(for: response(416, lines), to: .whole(reason: .restartRequested), held: Fixture.tagged)
        #expect(whole.summary == "refuse: status-416")
    }

    @Test("E08, I10: after rejecting the range or the condition, a server is asked for the whole file")
    func rejected() {
        #expect(Fixture.judge(400).summary == "ask for whole: range-rejected")
        #expect(Fixture.judge(412).summary == "ask for whole: precondition-failed")
        #expect(Fixture.judge(400, held: Self.nothing).summary == "refuse: status-400")
        #expect(Fixture.judge(412, held: Self.nothing).summary == "refuse: status-412")
    }

    @Test(
        "A15, I05, I07, I13: temporary failures are retried",
        arguments: [
            408, 420, 421, 423, 425, 429, 430, 449, 460, 499, 500, 502, 503, 504, 506, 507, 508, 509, 510, 511, 520,
            599,
        ])
    func transient(status: Int) {
        #expect(Fixture.judge(status, ["Retry-After: 2"]).summary == "retry after 2: status-\(status)")
        #expect(Fixture.judge(status).summary == "retry later: status-\(status)")
        #expect(Fixture.judge(status, held: Self.nothing).summary == "retry later: status-\(status)")
    }

    @Test(
        "I04, I06: a server's requested wait is clamped",
        arguments: [
            ("-1", "retry later"), ("garbage", "retry later"),
            ("1000000000000", "retry after \(ResponseTiming.RetryAfter.longest)"),
        ])
    func retryAfter(text: String, expected: String) {
        #expect(Fixture.judge(429, ["Retry-After: \(text)"]).summary == "\(expected): status-429")
    }

    @Test(
        "I01, I02, I03, I09, I11, I13, I14, I16, H15, T28, T40: an error; after a range, one plain request",
        arguments: [
            201, 204, 205, 207, 226, 300, 304, 305, 306, 399, 401, 402, 405, 406, 407, 409, 410, 411, 413, 414, 417,
            422,
            424, 426, 428, 431, 451, 501, 505, 600, 999, 0, 99,
        ])
    func refused(status: Int) {
        let lines = ["ETag: \"a\"", Fixture.contentRange, "Content-Length: 154096", "Retry-After: 1"]
        #expect(Fixture.judge(status, lines, held: Self.nothing).summary == "refuse: status-\(status)")
        let step = [401, 407].contains(status) ? "refuse" : "ask for whole"
        #expect(Fixture.judge(status, lines).summary == "\(step): status-\(status)")
    }

    @Test("A14, I02, I14: 202, 403 and 404 are temporary if the server says when", arguments: [202, 403, 404])
    func postponed(status: Int) {
        // After a range, the plain file is requested before anything is refused.
        for (held, step) in [(Fixture.tagged, "ask for whole"), (Self.nothing, "refuse")] {
            #expect(Fixture.judge(status, ["ETag: \"a\""], held: held).summary == "\(step): status-\(status)")
            #expect(Fixture.judge(status, ["Retry-After: soon"], held: held).summary == "\(step): status-\(status)")
            #expect(Fixture.judge(status, ["Retry-After: 7"], held: held).summary == "retry after 7: status-\(status)")
        }
    }

    @Test("No status except 200, 203, 206 and 416 ever affects a byte")
    func bodies() {
        let lines = ["ETag: \"a\"", Fixture.contentRange, "Content-Range: bytes 95904-249999/250000"]
        for status in 0...999 where ![200, 203, 206, 416].contains(status) {
            #expect(Fixture.judge(status, lines).representation == nil)
        }
    }

    @Test("L03: a reason phrase is shown without control characters")
    func phrase() {
        let head = response(404, phrase: "Not \u{1B}]0;x\u{7} Found")
        let verdict = Verdict(for: head, to: Plan(for: Fixture.tagged), held: Fixture.tagged)
        #expect(verdict.summary == "ask for whole: status-404")
        #expect(!verdict.reason.text.unicodeScalars.contains { $0.properties.generalCategory == .control })
        #expect(Fixture.judge(404).reason.text == "the server responded with status 404")
    }

    @Test("L03: text of foreign origin is shown escaped")
    func printable() {
        #expect(Printable.escaped("plain, \u{E9} \u{1F600}") == "plain, \u{E9} \u{1F600}")
        #expect(Printable.escaped("\u{1B}[31m\r\n\0") == "\\u{1B}[31m\\u{D}\\u{A}\\u{0}")
        for unsafe in [
            "\u{7F}", "\u{9B}", "\u{85}", "\u{202E}", "\u{2066}", "\u{200B}", "\u{2028}", "\u{2029}", "\u{E000}",
        ] {
            #expect(Printable.escaped("a\(unsafe)b").hasPrefix("a\\u{"))
            #expect(Printable.escaped("a\(unsafe)b").hasSuffix("}b"))
        }
    }
}
