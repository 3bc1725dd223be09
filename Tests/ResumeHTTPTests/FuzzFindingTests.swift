import HTTPTypes
import ResumeHTTP
import Testing

/// A plain case for each finding of `parser-fuzzer`.
@Suite(.timeLimit(.minutes(5)))
struct FuzzFindingTests {
    @Test(
        "Hours, minutes and seconds have two digits each, not eight characters together",
        arguments: [
            "Sun, 19 Nov 6685 006:27:0 GMT", "Sunday, 06-Nov-94 8:049:37 GMT", "Sun Nov  6 8:9:0037 1994",
            "Sun, 06 Nov 1994 0849:3:7 GMT",
        ])
    func clock(text: String) {
        expectNoDate(text)
    }

    @Test("A part that ends before the stored bytes do, of a file that ends there, leaves bytes uncompared")
    func partBeforeTheEnd() {
        let held = Fixture.held { $0.completeLength = nil }
        let judge = { (range: String) in
            Fixture.judge(206, ["ETag: \"a\"", "Content-Range: bytes \(range)"], held: held).summary
        }
        expect(judge("4427-95904/100000"), "ask for whole: range-without-progress")
        expect(judge("0-0/100000"), "ask for whole: range-without-progress")
        expect(judge("95904-99999/100000"), "append 95904..<100000 at 100000: resumed")
    }

    @Test("Without validator and digest, a part that begins after the requested offset compares too little")
    func tooLittleCompared() {
        let held = Fixture.held { $0.entityTag = nil }
        let judge = { (first: Int, policy: ResumePolicy) in
            let head = response(206, ["Content-Range: bytes \(first)-249999/250000"])
            return Verdict(for: head, to: Plan(for: held, policy: policy), held: held, policy: policy).summary
        }
        let bytesOnly = ResumePolicy(allowsUnvalidated: true)
        expect(judge(34_464, bytesOnly), "append 34464..<250000 at 100000: resumed-unvalidated")
        expect(judge(34_465, bytesOnly), "ask for whole: range-gap")
        expect(judge(100_000, bytesOnly), "ask for whole: range-gap")
        let digest = ResumePolicy(allowsUnvalidated: true, digest: HTTPDigest(.sha256, of: []))
        expect(judge(100_000, digest), "ask for whole: range-gap")
    }

    @Test(
        "More stored bytes than wanted, as in a damaged row, neither trap nor yield an inverted range",
        arguments: [101, 6_300_290_893_228_237_938, .max] as [Int64])
    func moreThanWanted(length: Int64) {
        for ranges in ["100-199", "200000-200009,100-189"] {
            var held = Fixture.held(length: length) { _ in }
            held.selection = RangeSelection(ranges)
            expect(Plan(for: held).fields[.range] ?? "", "bytes=\(ranges.prefix { $0 != "," })")
        }
    }

    private func expectNoDate(_ text: String) {
        #expect(HTTPDate(text) == nil)
    }

    private func expect(_ summary: String, _ expected: String) {
        #expect(summary == expected)
    }
}
