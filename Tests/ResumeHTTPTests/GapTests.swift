import HTTPTypes
import ResumeHTTP
import Testing

/// A gap in the stored bytes: requested alone, and read no further.
@Suite(.timeLimit(.minutes(5)))
struct GapTests {
    private static func gap(
        _ length: Int64, _ next: Int64, held: Int64 = 0, selection: String? = nil
    ) throws -> HeldPartial {
        HeldPartial(
            representation: Fixture.tagged.representation, length: length,
            nextHeld: next..<(held > .max - next ? .max : next + held),
            selection: try selection.map { try RangeSelection(parsing: $0) })
    }

    @Test(
        "Missing bytes are requested with the overlap before them, up to the next stored bytes",
        arguments: [(100_000, 200_000, "95904-199999"), (1000, 2000, "0-1999"), (0, 5000, "0-4999")]
            as [(
                Int64, Int64, String
            )])
    func plan(length: Int64, next: Int64, expected: String) throws {
        let fields = Plan(for: try Self.gap(length, next)).fields
        #expect(fields[.range] == "bytes=\(expected)")
        #expect(fields[.ifRange] == "\"a\"")
    }

    @Test("Up to an overlap of the bytes stored behind the gap is requested as well")
    func farEnd() throws {
        #expect(Plan(for: try Self.gap(100_000, 200_000, held: 10)).fields[.range] == "bytes=95904-200009")
        #expect(Plan(for: try Self.gap(100_000, 200_000, held: 50_000)).fields[.range] == "bytes=95904-204095")
        let off = Plan(for: try Self.gap(100_000, 200_000, held: 50_000), policy: ResumePolicy(overlap: 0))
        #expect(off.fields[.range] == "bytes=100000-199999")
        let selected = try Self.gap(6000, 6900, held: 5000, selection: "10000-16999,50000-59999")
        #expect(Plan(for: selected).fields[.range] == "bytes=11904-16999", "no further than the range")
        #expect(Plan(for: try Self.gap(1, 2, held: .max)).fields[.range] == "bytes=0-4097")
    }

    @Test(
        "The requested bytes after the gap must be compared, even if the answer ends sooner",
        arguments: [nil, 154_095, 152_999, 149_999, 149_998])
    func comparedEnd(last: Int64?) throws {
        let held = try Self.gap(100_000, 150_000, held: 50_000)
        var response = HTTPResponse(status: last == nil ? .ok : .partialContent)
        response.headerFields[.eTag] = "\"a\""
        response.headerFields[.contentLength] = "\(Fixture.total)"
        if let last { response.headerFields[.contentRange] = "bytes 95904-\(last)/250000" }
        let continuation = try #require(Verdict(for: response, to: Plan(for: held), held: held).appended)
        let end = min(last ?? .max - 1, 149_999) + 1
        #expect(continuation.bodyEnd == end)
        #expect(continuation.comparedEnd == (end == 150_000 ? 154_096 : end))
        #expect(continuation.goesOn == (last ?? .max > 149_999))
    }

    @Test("Within the caller's ranges the gap ends where the range does")
    func selection() throws {
        let held = try Self.gap(6000, 8000, selection: "10000-16999,50000-59999")
        #expect(Plan(for: held).fields[.range] == "bytes=11904-16999")
        let inSecond = try Self.gap(8000, 9000, selection: "10000-16999,50000-59999")
        #expect(Plan(for: inSecond).fields[.range] == "bytes=50000-51999")
    }

    @Test("Without a validator, a gap with too little before it to compare does not validate the rest")
    func unvalidated() throws {
        var held = try Self.gap(1000, 2000)
        held.representation?.entityTag = nil
        let plan = Plan(for: held, policy: ResumePolicy(allowsUnvalidated: true))
        #expect(plan.fields[.range] == nil)
    }

    @Test("Of an answer that exceeds the gap only the gap is used", arguments: [200, 206])
    func verdict(status: Int) throws {
        let held = try Self.gap(100_000, 150_000)
        var response = HTTPResponse(status: .init(code: status))
        response.headerFields[.eTag] = "\"a\""
        response.headerFields[.contentLength] = "\(Fixture.total)"
        if status == 206 {
            response.headerFields[.contentLength] = "154096"
            response.headerFields[.contentRange] = "bytes 95904-249999/250000"
        }
        let verdict = Verdict(for: response, to: Plan(for: held), held: held)
        let continuation = try #require(verdict.appended)
        #expect(continuation.offset == 100_000)
        #expect(continuation.bodyEnd == 150_000)
        #expect(continuation.goesOn)
    }

    @Test("A gap at the beginning holds data: another tag is a restart, not a first request")
    func changed() throws {
        let held = try Self.gap(0, 5000)
        #expect(!held.isEmpty)
        var response = HTTPResponse(status: .ok)
        response.headerFields[.eTag] = "\"b\""
        let verdict = Verdict(for: response, to: Plan(for: held), held: held)
        #expect(verdict.summary == "start over: entity-tag-changed")
    }
}
