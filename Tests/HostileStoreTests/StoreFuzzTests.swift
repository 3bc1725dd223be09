import StoreFuzz
import TestSupport
import Testing

/// Random rows and random damage of pages; `make fuzz-store` goes on for longer.
@Suite(.timeLimit(.minutes(20)))
struct StoreFuzzTests {
    @Test("D3: whatever is planted: no trap, no hang, no wrong byte, nothing outside touched, and a rebuild that works")
    func planted() async throws {
        var fuzzer = StoreFuzzer()
        fuzzer.seed = 1
        fuzzer.count = 30
        let report = try await TemporaryFolder.with { [fuzzer] folder in try await fuzzer.run(in: folder) }
        print(report.summary, "seed", fuzzer.seed)
        for violation in report.violations { Issue.record("\(violation)") }
        #expect(report.cases == 30)
        // Neither was everything refused, nor nothing seen.
        #expect(report.statuses[0, default: 0] > 0 && report.statuses[65, default: 0] > 0, "\(report.summary)")
    }
}
