import HTTPTypes
@testable import ResumeHTTP
import Testing

/// Responses with status 200 that contradict what is known of the file.
@Suite(.timeLimit(.minutes(5)))
struct ContradictionTests {
    private static let zip = Fixture.held { $0.contentType = "application/zip" }
    private static let login = ["Content-Type: text/html", "Content-Length: 250000", "ETag: \"l\""]

    private static func context(from host: String, _ name: String = "a.zip") throws -> AnswerContext {
        AnswerContext(
            sender: try DownloadURL("https://\(host)/login"), url: try DownloadURL("https://files.test/\(name)"))
    }

    private static func judge(
        _ lines: [String], held: HeldPartial = zip, _ context: AnswerContext
    ) -> String {
        Verdict(for: response(200, lines), to: Plan(for: held), held: held, in: context).summary
    }

    @Test("A page with a validator from another host is a failure for now, one from the same host a new version")
    func page() throws {
        for type in ["text/html", "application/json; charset=utf-8", "application/problem+json"] {
            let lines = ["Content-Type: \(type)", "Content-Length: 250000", "ETag: \"l\""]
            #expect(Self.judge(lines, try Self.context(from: "login.test")) == "retry later: portal-suspected")
            #expect(Self.judge(lines, try Self.context(from: "files.test")) == "start over: entity-tag-changed")
            let short = ["Content-Type: \(type)", "Content-Length: 500", "ETag: \"l\""]
            #expect(Self.judge(short, try Self.context(from: "files.test")) == "retry later: portal-suspected")
        }
        let version = ["Content-Type: application/zip", "Content-Length: 500", "ETag: \"l\""]
        #expect(Self.judge(version, try Self.context(from: "mirror.test")) == "start over: entity-tag-changed")
    }

    @Test("A page is said to leave what is stored only if something is")
    func words() throws {
        var context = try Self.context(from: "login.test")
        #expect(!Contradiction.page.reason(in: context).text.contains("kept"))
        context.home = context.url
        #expect(Contradiction.page.reason(in: context).text.contains("What you have is kept"))
    }

    @Test(
        "A 200 with a Content-Range that is not that of the whole file is never the whole file",
        arguments: [
            "bytes=95904-249999/250000", "bytes 95904-249999", "95904-249999/250000",
            "bytes 0-249999/250000\nContent-Range: bytes 95904-249999/250000",
        ])
    func malformedRange(value: String) {
        let lines =
            ["Last-Modified: \(Fixture.modified)"] + "Content-Range: \(value)".split(separator: "\n").map(String.init)
        for status in [200, 203] {
            let judge = { (plan: Plan) in Verdict(for: response(status, lines), to: plan, held: Fixture.dated).summary }
            #expect(judge(Plan(for: Fixture.dated)) == "ask for whole: content-range-invalid")
            #expect(judge(.whole(reason: nil)) == "retry later: content-range-invalid")
        }
    }

    @Test("A 200 that is as long as the requested rest is not the whole file")
    func rest() {
        let judge = { (length: Int) in
            let lines = ["Last-Modified: \(Fixture.modified)", "Content-Length: \(length)"]
            return Fixture.judge(200, lines, held: Fixture.dated).summary
        }
        #expect(judge(154_096) == "retry later: file-shrunk")
        #expect(judge(154_097) == "start over: validator-missing")
    }

    @Test("Less than half, without any validator, does not replace stored bytes that have none either")
    func short() {
        let held = Fixture.held { $0.entityTag = nil }
        let judge = { (length: Int, fields: [String]) in
            Fixture.judge(200, ["Content-Length: \(length)"] + fields, held: held).summary
        }
        #expect(judge(124_999, []) == "retry later: file-shrunk")
        #expect(judge(125_000, []) == "start over: length-changed")
        // A validator shows a new version, even a weak one.
        for field in ["ETag: \"b\"", "ETag: W/\"b\"", "Last-Modified: \(Fixture.modified)"] {
            #expect(judge(9, [field]).hasPrefix("start over"), "\(field)")
        }
        // A delivered file is no stored data.
        var context = AnswerContext()
        context.delivered = held.representation
        let nothing = HeldPartial(representation: nil, length: 0)
        #expect(Self.judge(["Content-Length: 9"], held: nothing, context) == "start over: first-request")
    }

    @Test("Without stored bytes, a page from another host is refused for now if the name is that of a file")
    func first() throws {
        let nothing = HeldPartial(representation: nil, length: 0)
        let judge = { (host: String, name: String) in
            try Self.judge(Self.login, held: nothing, Self.context(from: host, name))
        }
        #expect(try judge("login.test", "model.GGUF") == "retry later: portal-suspected")
        #expect(try judge("files.test", "model.gguf") == "start over: first-request")
        #expect(try judge("login.test", "manual.html") == "start over: first-request")
    }

    @Test("A page that a digest has not matched is no reason to take another one from a login host")
    func second() throws {
        let page = Fixture.held { $0.contentType = "text/html" }
        #expect(
            Self.judge(Self.login, held: page, try Self.context(from: "login.test")) == "retry later: portal-suspected")
        #expect(
            Self.judge(Self.login, held: page, try Self.context(from: "files.test")) == "start over: entity-tag-changed"
        )
    }

    @Test("A page is believed only with a restart; other contradictions after three days without the file between")
    func days() throws {
        var context = try Self.context(from: "files.test")
        let short = ["Content-Length: 9", "ETag: \"a\""]
        for day in [Int64(1), 1, 1, 2, 2] {
            context.day = day
            #expect(Self.judge(short, context) == "retry later: tag-contradiction")
            let seen = Sightings(
                of: Representation(announcedBy: response(200, short)), on: day, after: context.sightings)
            context.sightings = Sightings(stored: seen.stored)
        }
        context.day = 3
        #expect(Self.judge(short, context) == "start over: length-changed")
        #expect(Self.judge(["Content-Length: 8", "ETag: \"a\""], context) == "retry later: tag-contradiction")
        let page = ["Content-Type: text/html", "Content-Length: 9", "ETag: \"a\""]
        for day in Int64(1)...5 {
            context.day = day
            context.sightings = Sightings(
                of: Representation(announcedBy: response(200, page)), on: day, after: context.sightings)
            #expect(Self.judge(page, context) == "retry later: portal-suspected")
        }
        context.isRestart = true
        #expect(Self.judge(page, context).hasPrefix("start over"))
        #expect(
            Sightings(stored: "4 1 a") == nil && Sightings(stored: "1 a") == nil && Sightings(stored: "x 1 a") == nil)
    }

    @Test("A delivered file is replaced by the same rules, and is unchanged if the condition was ignored")
    func delivered() throws {
        let file = Representation(fields: headerFields(["ETag: \"a\"", "Content-Length: 250000"]))
        let nothing = HeldPartial(representation: nil, length: 0)
        var context = try Self.context(from: "files.test")
        context.delivered = file
        #expect(
            Self.judge(["ETag: \"a\"", "Content-Length: 0"], held: nothing, context) == "retry later: tag-contradiction"
        )
        #expect(
            Self.judge(["ETag: \"b\"", "Content-Length: 9"], held: nothing, context) == "start over: first-request")
        let same = response(200, ["ETag: \"a\"", "Content-Length: 250000"])
        #expect(DeliveredVerdict(for: same, delivered: file) == .unchanged)
        #expect(DeliveredVerdict(for: response(200, ["ETag: \"a\""]), delivered: file) == .unknown)
        #expect(DeliveredVerdict(for: response(304, ["ETag: W/\"a\""]), delivered: file) == .unchanged)
        let other = DeliveredVerdict(for: response(304, ["ETag: \"b\""]), delivered: file)
        if case .contradiction = other {} else { Issue.record("\(other)") }
    }

    @Test("A compressed file may be labelled with its compression, by its name or with a digest")
    func coding() throws {
        let fresh = HeldPartial(representation: nil, length: 0)
        let lines = ["Content-Encoding: x-gzip", "Content-Length: 9"]
        func summary(_ name: String, digest: HTTPDigest? = nil) throws -> String {
            var policy = ResumePolicy(digest: digest)
            policy.url = try DownloadURL("https://files.test/\(name)")
            return Verdict(for: response(200, lines), to: .whole(reason: nil), held: fresh, policy: policy).summary
        }
        #expect(try summary("a.tar.gz") == "start over: first-request")
        #expect(try summary("a.tar") == "refuse: content-coded")
        let digest = HTTPDigest(.sha256, hexadecimal: String(repeating: "0", count: 64))
        #expect(try summary("a.tar", digest: digest) == "start over: first-request")
    }

    @Test("A digest that only a later part has counts, and two different ones are a failure for now")
    func digests() {
        let digest = "Repr-Digest: sha-256=:\(String(repeating: "A", count: 43))=:"
        let other = "Repr-Digest: sha-256=:\(String(repeating: "B", count: 42))A=:"
        let part = [VerdictRangeTests.tag, VerdictRangeTests.range]
        #expect(Fixture.judge(206, part + [digest]).representation?.reprDigest != nil)
        #expect(Fixture.judge(206, part + [digest, other]).summary == "retry later: digests-conflict")
        #expect(Fixture.judge(200, ["ETag: \"a\"", digest, other]).summary == "retry later: digests-conflict")
    }
}

/// Ranges that a server refuses or ignores.
@Suite(.timeLimit(.minutes(5)))
struct RangeCourseTests {
    private static func range(
        _ course: inout RangeCourse, _ held: HeldPartial = Fixture.tagged, of length: Int64? = nil
    ) -> String? {
        Plan(for: held).limited(by: &course, of: length).fields[.range]
    }

    @Test("After a refusal: the plain file, whose body is closed, then closed ranges that grow, then the plain body")
    func order() {
        var course = RangeCourse()
        let huge = Fixture.held { $0.completeLength = 10 << 30 }
        let open = Self.range(&course, huge)
        #expect(open == "bytes=95904-")
        let steps = (course.refused(), course.closeBody(prefix: 100, isConditional: false))
        #expect(steps == (true, true))
        var size = RangeCourse.firstSize
        while size < RangeCourse.largestSize {
            let range = Self.range(&course, huge)
            #expect(range == "bytes=95904-\(95904 + size - 1)")
            course.sent(size)
            #expect(course.acceptedSize == size)
            size *= 2
        }
        _ = Self.range(&course, huge)
        course.sent(size)
        #expect(course.size == RangeCourse.largestSize)
        let next = RangeCourse(closed: course.acceptedSize)
        #expect(next.size == RangeCourse.largestSize)
    }

    @Test("The refusal of a range is followed by a smaller one, unless the rest of the file is as small")
    func smaller() {
        var refused = RangeCourse()
        let first = (refused.refused(), refused.closeBody(prefix: 100, isConditional: false), refused.refused())
        #expect(first == (true, true, false), "a smaller range is tried first")
        #expect(refused.size == RangeCourse.smallSize)
        let last = (refused.refused(), refused.closeBody(prefix: 100, isConditional: false))
        #expect(last == (true, false) && refused.isPlain)
        var short = RangeCourse()
        _ = (short.refused(), short.closeBody(prefix: 100, isConditional: false))
        let rest = Self.range(&short, of: 250_000)
        let isPlain = short.refused()
        #expect(rest == "bytes=95904-249999")
        #expect(isPlain && short.isPlain, "the same bytes are not requested again")
        var sent = RangeCourse()
        _ = (sent.refused(), sent.closeBody(prefix: 100, isConditional: false))
        _ = Self.range(&sent, of: 250_000)
        sent.sent(154_096)
        #expect(sent.size == 2 * RangeCourse.firstSize, "the end of the file says nothing about the server")
    }

    @Test("A server that sends at most 4 KiB is asked for as much, and half of it is compared")
    func small() {
        var course = RangeCourse()
        let isSmaller = course.sentNothingNew(4096)
        #expect(isSmaller)
        let range = Self.range(&course)
        #expect(range == "bytes=97952-102047")
        let isSmallerAgain = course.sentNothingNew(4096)
        #expect(!isSmallerAgain)
        course.sent(4096)
        #expect(course.acceptedSize == 4096 && course.size == 4096)
    }

    @Test("A range that is ignored under a condition is requested once without it")
    func condition() {
        var course = RangeCourse()
        let closes = (
            course.closeBody(prefix: 1 << 10, isConditional: true),
            course.closeBody(prefix: 1 << 20, isConditional: true)
        )
        #expect(closes == (false, true))
        let plan = Plan(for: Fixture.tagged).limited(by: &course)
        #expect(plan.fields[.ifRange] == nil && plan.fields[.range] == "bytes=95904-")
        let closesAgain = course.closeBody(prefix: 1 << 20, isConditional: false)
        #expect(!closesAgain)
        let again = Plan(for: Fixture.tagged).limited(by: &course)
        #expect(again.fields[.ifRange] == "\"a\"")
    }
}
