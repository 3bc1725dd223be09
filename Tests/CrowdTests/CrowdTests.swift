import Crowd
import TestSupport
import Testing

/// A crowd for as long as a test may take; `make crowd` goes on for longer.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct CrowdTests {
    @Test("Killed, stopped, collected and purged under one another's hands: every file is right, and the store whole")
    func crowd() async throws {
        let plan = Crowd.Plan(duration: .seconds(20), seed: .random(in: 0...UInt64.max))
        let report = try await TemporaryFolder.with { folder in try await Crowd.run(plan, in: folder) }
        print(report.summary, "seed", plan.seed)
        for violation in report.violations { Issue.record("\(violation), seed \(plan.seed)") }
        #expect(report.downloads > 10 && report.kills > 10 && report.stops > 10, "\(report.details)")
    }
}
