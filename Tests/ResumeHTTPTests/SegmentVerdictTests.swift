import HTTPTypes
@testable import ResumeHTTP
import Testing

/// The answer to a segment's request: used only if it is exactly what was requested.
@Suite(.timeLimit(.minutes(5)))
struct SegmentVerdictTests {
    private static let stored = Representation(fields: headerFields(["ETag: \"a\"", "Content-Length: 250000"]))
    private static let policy = ResumePolicy()

    private static func request(_ range: Range<Int64>, held: [Range<Int64>] = []) -> Plan.RangeRequest {
        Plan.RangeRequest(segment: range, held: held, validator: stored.validator, policy: policy)
    }

    private static func judge(_ status: Int, _ lines: [String], held: [Range<Int64>] = []) -> SegmentVerdict {
        SegmentVerdict(
            for: response(status, lines), to: request(100_000..<150_000, held: held), stored: stored, policy: policy)
    }

    private static let part = "Content-Range: bytes 100000-149999/250000"

    @Test("Adjoining stored bytes, up to an overlap, are requested with the missing ones")
    func request() {
        let fields = { (held: [Range<Int64>]) in Plan.range(Self.request(100_000..<150_000, held: held)).fields }
        #expect(fields([])[.range] == "bytes=100000-149999")
        #expect(fields([])[.ifRange] == "\"a\"")
        #expect(fields([0..<100_000, 150_000..<200_000])[.range] == "bytes=95904-154095")
        #expect(fields([99_990..<100_000, 150_000..<150_001])[.range] == "bytes=99990-150000")
        #expect(fields([0..<99_999, 150_001..<200_000])[.range] == "bytes=100000-149999")
    }

    @Test("A part with the same strong tag is used, up to its end")
    func used() {
        let verdict = Self.judge(206, ["ETag: \"a\"", Self.part])
        #expect(verdict.summary == "use 100000..<150000 at 100000")
        if case .use(let continuation) = verdict { #expect(!continuation.goesOn) }
    }

    @Test(
        "No more connections after one is refused, or answered with the whole of the same file",
        arguments: [429, 503, 500, 401, 403, 404, 301])
    func noMore(status: Int) {
        #expect(Self.judge(status, []).summary.hasPrefix("no more: "))
        let whole = Self.judge(200, ["ETag: \"a\"", "Content-Length: 250000"])
        #expect(whole.summary == "no more: whole-for-segment")
    }

    @Test("A part of the same file that begins after the wanted offset ends no streams", arguments: [95_905, 100_000])
    func withoutOverlap(first: Int) {
        for (tag, outcome) in [("a", "no more: "), ("b", "stop: ")] {
            let lines = ["ETag: \"\(tag)\"", "Content-Range: bytes \(first)-149999/250000"]
            #expect(Self.judge(206, lines, held: [0..<100_000]).summary.hasPrefix(outcome), "\(tag)")
        }
    }

    @Test(
        "Parts that do not match the request exactly are not used",
        arguments: [
            "Content-Range: bytes 99999-149999/250000", "Content-Range: bytes 100000-150000/250000",
            "Content-Range: bytes 100000-149999/*",
        ])
    func inexact(range: String) {
        #expect(Self.judge(206, ["ETag: \"a\"", range]).summary.hasPrefix("no more: "))
    }

    @Test("A part with a separate digest is not used: if it proved wrong, more than that part would be lost")
    func digestOfPart() {
        let digest = "Content-Digest: sha-256=:\(String(repeating: "A", count: 43))=:"
        #expect(Self.judge(206, ["ETag: \"a\"", Self.part, digest]).summary == "no more: segment-digest")
    }

    @Test("A part that the server ends too soon is not used, nor one of an open-ended request")
    func cutShort() {
        var open = Self.request(100_000..<150_000)
        open.end = nil
        #expect(Plan.range(open).fields[.range] == "bytes=100000-")
        let cases = [
            (Self.request(100_000..<150_000), "Content-Range: bytes 100000-149998/250000"),
            (open, "Content-Range: bytes 100000-249999/250000"),
        ]
        for (request, range) in cases {
            let verdict = SegmentVerdict(
                for: response(206, ["ETag: \"a\"", range]), to: request, stored: Self.stored, policy: Self.policy)
            #expect(verdict.summary == "no more: segment-cut-short")
        }
        var last = Self.request(.max - 1..<(.max))
        last.tail = 1
        #expect(Plan.range(last).fields[.range]?.hasSuffix("-\(Int64.max - 1)") == true, "no sum overflows")
    }

    @Test("The whole file in place of a part ends all streams unless it is proved to be the same file")
    func wholeWithoutValidator() {
        let verdict = SegmentVerdict(
            for: response(200, ["Content-Length: 250000"]), to: Self.request(100_000..<150_000),
            stored: Representation(completeLength: 250_000), policy: Self.policy)
        #expect(verdict.summary == "stop: no-validator")
    }

    @Test(
        "Anything that may be another representation ends all streams",
        arguments: [
            (206, ["ETag: \"b\"", part]), (206, [part]), (206, ["ETag: W/\"a\"", part]),
            (206, ["ETag: \"a\"", "Content-Range: bytes 100000-149999/250001"]), (206, ["ETag: \"a\""]),
            (206, ["ETag: \"a\"", part, "Content-Encoding: gzip"]), (200, ["ETag: \"b\"", "Content-Length: 250000"]),
            (200, ["Content-Length: 250000"]), (412, []), (416, ["Content-Range: bytes */90000"]),
        ] as [(Int, [String])])
    func stop(status: Int, lines: [String]) {
        #expect(Self.judge(status, lines).summary.hasPrefix("stop: "))
    }

    @Test("Several connections need a strong tag, a known length, ranges, no coding and no range selection")
    func eligible() throws {
        func length(_ policy: ResumePolicy = ResumePolicy(), _ change: (inout HeldPartial) throws -> Void) rethrows
            -> Int64?
        {
            var held = Fixture.tagged
            try change(&held)
            return held.lengthForSegments(policy)
        }
        #expect(length { _ in } == 250_000)
        #expect(length(ResumePolicy(condition: .ifMatch)) { _ in } == 250_000)
        #expect(length(ResumePolicy(condition: .head)) { _ in } == nil)
        #expect(length { $0.representation?.entityTag = EntityTag(rawValue: "W/\"a\"") } == nil)
        #expect(length { $0.representation = Fixture.dated.representation } == nil)
        #expect(length { $0.representation?.completeLength = nil } == nil)
        #expect(length { $0.representation?.acceptsRanges = false } == nil)
        #expect(length { $0.representation?.contentCoding = "gzip" } == nil)
        let selected = try length { $0.selection = try RangeSelection(parsing: "0-99") }
        #expect(selected == nil)
    }
}
