import HTTPTypes
import ResumeHTTP
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PlanTests {
    @Test("A01, G01, T12: with nothing stored, a plain GET for identity")
    func nothingHeld() {
        let plan = Plan(for: HeldPartial(representation: nil, length: 0))
        #expect(plan == .whole(reason: nil))
        #expect(plan.fields == [.acceptEncoding: "identity"])
    }

    @Test("A02: the overlap and the rest, guarded by the entity tag and nothing else")
    func range() throws {
        let plan = Plan(for: Fixture.tagged)
        #expect(plan.fields == [.acceptEncoding: "identity", .range: "bytes=95904-", .ifRange: "\"a\""])
        let range = try #require(plan.rest)
        #expect(range.start == Fixture.start)
        #expect(range.offset == Fixture.length)
        #expect(range.offset - range.start == ResumePolicy.defaultOverlap)
    }

    @Test("A05, A09: a strong date as received; with a tag beside it only the tag")
    func dates() {
        #expect(Plan(for: Fixture.dated).fields[.ifRange] == Fixture.modified)
        let both = Fixture.held {
            $0.lastModified = Fixture.modified
            $0.date = Fixture.sent
        }
        #expect(Plan(for: both).fields[values: .ifRange] == ["\"a\""])
        #expect(Plan(for: both).fields[.ifUnmodifiedSince] == nil)
    }

    @Test("A10: a tag with obs-text is sent back byte for byte")
    func obsText() throws {
        let bytes: [UInt8] = [0x22] + Array(0x80...0xFF) + [0x22]
        let held = Fixture.held { $0.entityTag = EntityTag(bytes) }
        let field = try #require(Plan(for: held).fields[fields: .ifRange].first)
        let sent = unsafe field.withUnsafeBytesOfValue { unsafe Array($0) }
        #expect(sent == bytes)
    }

    @Test(
        "A03, A04, A06, A07, A08, A12, T8: unguarded data is requested from the start, with the reason",
        arguments: [
            Answer("A03", ["ETag: W/\"a\""], "weak-entity-tag"),
            Answer("A04", ["ETag: W/\"a\"", "Last-Modified: \(Fixture.modified)"], "weak-entity-tag"),
            Answer("A06", ["Last-Modified: \(Fixture.sent)"], "date-too-fresh"),
            Answer("A07", ["Last-Modified: Sun, 06 Nov 1994 08:49:39 GMT"], "date-too-fresh"),
            Answer("A08", [], "no-validator"), Answer("A12", ["ETag: abc"], "unquoted-entity-tag"),
            Answer("A13", ["ETag: w/\"a\""], "no-validator"),
            Answer("A21", ["ETag: \"\(String(repeating: "a", count: 65_536))\""], "no-validator"),
        ])
    func unguarded(answer: Answer) {
        let fields = headerFields(answer.lines + ["Date: \(Fixture.sent)", "Content-Length: 250000"])
        let plan = Plan(for: HeldPartial(representation: Representation(fields: fields), length: Fixture.length))
        #expect(plan.wholeReason == answer.expected)
        #expect(plan.fields == [.acceptEncoding: "identity"])
    }

    @Test("D11: a range is requested although the server says that it has none, since some have")
    func rangesDenied() {
        let held = Fixture.held { $0.acceptsRanges = false }
        #expect(Plan(for: held).fields[.range] == "bytes=95904-")
    }

    @Test("A14: no byte, no range")
    func noByte() {
        let held = Fixture.held(length: 0) { _ in }
        #expect(Plan(for: held) == .whole(reason: nil))
        #expect(Plan(for: held, policy: .init(overlap: 0)) == .whole(reason: nil))
        #expect(Plan(for: Fixture.held(length: -1) { _ in }) == .whole(reason: nil))
    }

    @Test("A15, T7: nothing more is requested of a complete file")
    func complete() {
        let held = Fixture.held(length: Fixture.total) { _ in }
        #expect(held.isComplete)
        #expect(Plan(for: held) == .complete)
        #expect(Plan(for: held, avoidsRange: .restartRequested) == .complete)
        #expect(Plan(for: Fixture.held(length: Fixture.total) { $0.entityTag = nil }) == .complete)
        #expect(Plan(for: Fixture.held(length: Fixture.total) { $0.completeLength = nil }) != .complete)
    }

    @Test("J01, T15: zero bytes of zero are complete; one byte more or less than all is not")
    func coverage() {
        #expect(Plan(for: Fixture.held(length: 0) { $0.completeLength = 0 }) == .complete)
        #expect(!Fixture.held(length: Fixture.total - 1) { _ in }.isComplete)
        #expect(!Fixture.held(length: Fixture.total + 1) { _ in }.isComplete)
        #expect(!HeldPartial(representation: nil, length: 0).isComplete)
    }

    @Test("Less than the overlap is fetched again")
    func littleHeld() {
        for length in [1, 4095, 4096] as [Int64] {
            #expect(Plan(for: Fixture.held(length: length) { _ in }).wholeReason == "too-little-held", "\(length)")
        }
        #expect(Plan(for: Fixture.held(length: 4097) { _ in }).fields[.range] == "bytes=1-")
    }

    @Test("The overlap may be disabled; a negative one is zero")
    func overlap() {
        for overlap in [0, -1, .min] as [Int64] {
            #expect(Plan(for: Fixture.tagged, policy: .init(overlap: overlap)).fields[.range] == "bytes=100000-")
        }
        #expect(Plan(for: Fixture.held(length: 1) { _ in }, policy: .init(overlap: 0)).fields[.range] == "bytes=1-")
        #expect(Plan(for: Fixture.tagged, policy: .init(overlap: .max)).fields[.range] == nil)
    }

    @Test(
        "A16, T18: offsets beyond 32 bits, and beyond the precision of a Double",
        arguments: [1 << 31, 1 << 32, 1 << 32 + 1, 1 << 53 + 1, 1 << 62 + 1, .max - 1] as [Int64])
    func farOffsets(length: Int64) {
        let held = Fixture.held(length: length) { $0.completeLength = .max }
        #expect(Plan(for: held).fields[.range] == "bytes=\(length - 4096)-")
        #expect(Plan(for: held, policy: .init(overlap: 0)).fields[.range] == "bytes=\(length)-")
        #expect(Plan(for: Fixture.held(length: .max) { $0.completeLength = nil }).fields[.range] != nil)
    }

    @Test("E08, T37: after an answer that made a range pointless the whole file is requested, with the reason")
    func avoidsRange() {
        #expect(Plan(for: Fixture.tagged, avoidsRange: .restartRequested) == .whole(reason: .restartRequested))
    }

    @Test("C22: one open-ended range, never a suffix or a list")
    func oneRange() throws {
        let text = try #require(Plan(for: Fixture.tagged).fields[.range])
        #expect(text.wholeMatch(of: /bytes=[0-9]+-/) != nil)
    }

    @Test("A19: the plan decides these fields, and sends none of them twice")
    func ownedFields() {
        let owned = Set(Plan.ownedFieldNames)
        #expect(owned.isSuperset(of: [.range, .ifRange, .acceptEncoding, .ifMatch, .ifNoneMatch]))
        #expect(owned.isSuperset(of: [.ifModifiedSince, .ifUnmodifiedSince]))
        for plan in [Plan(for: Fixture.tagged), Plan(for: Fixture.dated), .whole(reason: nil), .complete] {
            let names = plan.fields.map(\.name)
            #expect(owned.isSuperset(of: names))
            #expect(Set(names).count == names.count)
        }
        // As a caller of the engine may have set them, in any case of letters.
        var fields = headerFields(["RANGE: bytes=0-9", "if-range: \"x\"", "Accept-Encoding: gzip", "X-Mine: 1"])
        for name in Plan.ownedFieldNames { fields[name] = nil }
        for field in Plan(for: Fixture.tagged).fields { fields.append(field) }
        #expect(fields[values: .range] == ["bytes=95904-"])
        #expect(fields[values: .acceptEncoding] == ["identity"])
        #expect(fields.count == 4)
    }
}
