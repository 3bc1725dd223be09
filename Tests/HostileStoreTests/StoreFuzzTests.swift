import StoreFuzz
import TestSupport
import Testing

/// Random rows and random page damage; `make fuzz-store` runs longer.
@Suite(.timeLimit(.minutes(20)))
struct StoreFuzzTests {
    @Test("D3: planted damage: no trap, hang, wrong byte or outside write, and a rebuild works")
    func planted() async throws {
        var fuzzer = StoreFuzzer()
        fuzzer.seed = 1
        fuzzer.count = 30
        let report = try await TemporaryFolder.with { [fuzzer] folder in try await fuzzer.run(in: folder) }
        print(report.summary, "seed", fuzzer.seed)
        for violation in report.violations { Issue.record("\(violation)") }
        #expect(report.cases == 30)
        // Some stores were refused, but not all.
        #expect(report.statuses[0, default: 0] > 0 && report.statuses[65, default: 0] > 0, "\(report.summary)")
    }
}
