import HTTPTypes
import TestSupport
import Testing

@testable import ResumeHTTP

/// Which bytes are compared if no validator proves anything, and which answers count.
struct SpotCheckTests {
    private static let policy = ResumePolicy(allowsUnvalidated: true)
    private static let block = ResumePolicy.unvalidatedOverlap

    private static func held(_ length: Int64, next: Range<Int64>? = nil, _ lines: [String] = []) -> HeldPartial {
        let fields = headerFields(lines + ["Content-Length: 100000000"])
        return HeldPartial(representation: Representation(fields: fields), length: length, nextHeld: next)
    }

    private static func all(_ held: HeldPartial, _ policy: ResumePolicy = policy, seed: UInt64 = 1) -> [SpotCheck] {
        SpotCheck.all(for: Plan(for: held, policy: policy), held: held, policy: policy, seed: seed)
    }

    @Test("F2: nothing is compared if a validator or a digest proves the bytes, or nothing is stored")
    func notNeeded() {
        #expect(Self.all(Fixture.tagged).isEmpty)
        #expect(Self.all(Fixture.dated).isEmpty)
        #expect(Self.all(Self.held(1_000_000), ResumePolicy(allowsUnvalidated: true, hasDigest: true)).isEmpty)
        #expect(Self.all(Self.held(1_000_000), ResumePolicy()).isEmpty)
        #expect(Self.all(Self.held(0)).isEmpty)
    }

    @Test("A21, F2: the first block and three random ones, sorted, disjoint, and before the overlap")
    func places() {
        var starts: Set<Int64> = []
        for seed in 0..<1000 as Range<UInt64> {
            let checks = Self.all(Self.held(10_000_000), seed: seed)
            let ranges = checks.map(\.range)
            #expect(ranges.first?.lowerBound == 0 && (2...4).contains(ranges.count))
            #expect(ranges.allSatisfy { $0.length >= Self.block && $0.upperBound <= 10_000_000 - Self.block })
            #expect(ranges.reduce(0) { $0 + $1.length } <= 4 * Self.block)
            #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
            let asked = checks.map { Plan.range($0.request).fields[.range] }
            #expect(asked == ranges.map { "bytes=\($0.lowerBound)-\($0.upperBound - 1)" })
            #expect(checks.allSatisfy { Plan.range($0.request).fields[.ifRange] == nil })
            #expect(Self.all(Self.held(10_000_000), seed: seed) == checks, "the seed alone decides")
            starts.formUnion(ranges.map(\.lowerBound))
        }
        #expect(starts.count > 2900)
    }

    @Test("F2: a small partial is compared completely")
    func little() {
        #expect(Self.all(Self.held(200_000)).map(\.range) == [0..<200_000 - Self.block])
        #expect(Self.all(Self.held(Self.block + 1)).map(\.range) == [0..<1])
    }

    @Test("F2: bytes stored behind a gap are compared as well")
    func gap() {
        var places: Set<Int64> = []
        for seed in 0..<200 as Range<UInt64> {
            let ranges = Self.all(Self.held(1_000_000, next: 5_000_000..<9_000_000), seed: seed).map(\.range)
            #expect(ranges.first?.lowerBound == 0)
            #expect(ranges.allSatisfy { $0.upperBound <= 1_000_000 || (5_000_000...9_000_000).contains($0.lowerBound) })
            #expect(ranges.allSatisfy { $0.upperBound <= 9_000_000 })
            places.formUnion(ranges.map { $0.lowerBound < 1_000_000 ? 0 : 1 })
        }
        #expect(places == [0, 1])
    }

    @Test("F2: of a caller's range, at the offsets in the server's file")
    func selection() {
        var held = Self.held(500_000)
        held.selection = RangeSelection("1000000-1999999")
        let checks = Self.all(held)
        #expect(checks.first?.range.lowerBound == 0)
        #expect(checks.allSatisfy { $0.request.start == $0.range.lowerBound + 1_000_000 })
        #expect(checks.allSatisfy { $0.request.end == $0.range.upperBound + 1_000_000 })
    }

    @Test("F2: numbers at their limits do not overflow", arguments: [0, 1, Int64.max / 2, Int64.max - 1, Int64.max])
    func numbers(number: Int64) {
        for next in [nil, number..<Int64.max, 0..<number] {
            for length in [number, 1, 70_000] {
                _ = Self.all(HeldPartial(representation: Representation(), length: length, nextHeld: next))
            }
        }
    }

    @Test("F2: only a 206 with exactly these bytes is compared; temporary refusals are retried")
    func answers() throws {
        let held = Self.held(1_000_000, [])
        let check = try #require(Self.all(held).first)
        let stored = try #require(held.representation)
        let judge = { (status: Int, lines: [String]) in
            SpotVerdict(for: response(status, lines), to: check, stored: stored, policy: Self.policy)
        }
        let last = check.range.upperBound - 1
        let right = "Content-Range: bytes 0-\(last)/100000000"
        #expect(judge(206, [right]) == .compare)
        #expect(judge(206, ["Content-Range: bytes 0-\(last + 9)/100000000"]) == .compare)
        let useless: [(Int, [String])] = [
            (200, []), (206, []), (206, ["Content-Range: bytes 0-\(last - 1)/100000000"]),
            (206, ["Content-Range: bytes 1-\(last)/100000000"]), (206, ["Content-Range: bytes 0-\(last)/99999999"]),
            (206, [right, "Content-Encoding: gzip"]), (206, [right, "ETag: \"b\""]), (206, [right, "Vary: *"]),
            (206, [right, "Content-Type: multipart/byteranges; boundary=x"]), (416, []), (412, []), (404, []),
            (304, []), (400, []),
        ]
        for (status, lines) in useless {
            guard case .askForWhole = judge(status, lines) else {
                Issue.record("\(status) \(lines): \(judge(status, lines))")
                continue
            }
        }
        guard case .retry(_, afterSeconds: 7) = judge(503, ["Retry-After: 7"]) else {
            Issue.record("503")
            return
        }
        for status in [401, 403, 407, 451] {
            guard case .refuse = judge(status, []) else {
                Issue.record("\(status)")
                continue
            }
        }
    }
}
