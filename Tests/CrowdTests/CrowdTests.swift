import Crowd
import FaultInjection
import TestSupport
import Testing

/// A crowd for as long as a test may take; `make crowd` goes on for longer.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CrowdTests {
    @Test("Killed, stopped, collected and purged under one another's hands: every file is right, and the store whole")
    func crowd() async throws {
        let plan = Crowd.Plan(duration: .seconds(20), seed: .random(in: 0...UInt64.max))
        let report = try await TemporaryFolder.with { folder in try await Crowd.run(plan, in: folder) }
        print(report.summary, "seed", plan.seed)
        for violation in report.violations { Issue.record("\(violation), seed \(plan.seed)") }
        #expect(report.downloads > 10 && report.kills > 10 && report.stops > 10, "\(report.details)")
    }

    @Test(
        "T19: with the store's own locks broken, and with all of them, no delivered file is wrong and nothing crashes",
        .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"), arguments: [Crowd.Locks.sqlite, .none])
    func withoutLocks(locks: Crowd.Locks) async throws {
        var plan = Crowd.Plan(duration: .seconds(12), seed: .random(in: 0...UInt64.max))
        plan.locks = locks
        let report = try await TemporaryFolder.with { [plan] folder in try await Crowd.run(plan, in: folder) }
        print(report.summary, "seed", plan.seed)
        for violation in report.violations { Issue.record("\(violation), seed \(plan.seed)") }
        #expect(report.downloads > 0 && report.kills > 5, "\(report.details)")
    }

    @Test("A process that waits asks the origin for the rest when its owner was killed, each time")
    func takeover() async throws {
        let samples = try await TemporaryFolder.with { folder in try await Takeover.measure(3, in: folder) }
        #expect(samples.count == 3 && samples.allSatisfy { $0.request > .zero })
    }
}
