import Crowd
import FaultInjection
import TestSupport
import Testing

/// A crowd for as long as a test may take; `make crowd` runs longer.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CrowdTests {
    @Test("Processes killed, stopped, collected and purged at the same time: every file is right, and the store intact")
    func crowd() async throws {
        var plan = Crowd.Plan(duration: .seconds(20), seed: 1)
        plan.leastEvents = 30
        let report = try await TemporaryFolder.with { [plan] folder in try await Crowd.run(plan, in: folder) }
        print(report.summary, "seed", plan.seed)
        for violation in report.violations { Issue.record("\(violation), seed \(plan.seed)") }
        #expect(
            report.downloads >= plan.leastEvents && report.kills >= plan.leastEvents
                && report.stops >= plan.leastEvents, "seed \(plan.seed)\n\(report.details)")
    }

    @Test(
        "T19: with the store's own locks broken, or all locks, no delivered file is wrong and nothing crashes",
        .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"), arguments: [Crowd.Locks.sqlite, .none])
    func withoutLocks(locks: Crowd.Locks) async throws {
        var plan = Crowd.Plan(duration: .seconds(12), seed: locks == .sqlite ? 2 : 3)
        plan.locks = locks
        plan.leastEvents = 6
        let report = try await TemporaryFolder.with { [plan] folder in try await Crowd.run(plan, in: folder) }
        print(report.summary, "seed", plan.seed)
        for violation in report.violations { Issue.record("\(violation), seed \(plan.seed)") }
        #expect(
            report.downloads >= plan.leastEvents && report.kills >= plan.leastEvents,
            "seed \(plan.seed)\n\(report.details)")
    }

    @Test("A waiting process asks the origin for the rest when the owner is killed, each time")
    func takeover() async throws {
        let samples = try await TemporaryFolder.with { folder in try await Takeover.measure(3, in: folder) }
        #expect(samples.count == 3 && samples.allSatisfy { $0.request > .zero && $0.lease >= .zero }, "\(samples)")
        #expect(samples.allSatisfy { $0.range?.hasPrefix("bytes=") == true }, "\(samples)")
    }
}
