import CrashSweep
import FaultInjection
import Foundation
import TestSupport
import Testing

/// Short sweeps; `make sweep` does the long one.
@Suite(
    .enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .serialized,
    .timeLimit(.minutes(5)))
struct SweepTests {
    @Test("The process dies: nothing wrong, nothing lost, little fetched again, the order of calls kept")
    func deaths() async throws {
        var sweep = CrashSweep(program: Resumectl.path, fileSystems: [.plain])
        sweep.stride = 41
        let report = try await sweep.run()
        print(report.table)
        #expect(report.violations.isEmpty, "\(report.violations.joined(separator: "\n"))")
        #expect(report.points >= 40)
    }

    @Test("Calls fail: an error that says so or no trace of it, and the next run finishes")
    func failures() async throws {
        var sweep = CrashSweep(program: Resumectl.path, fileSystems: [.plain])
        sweep.workflows = ["resume", "elsewhere"]
        sweep.faults = CrashSweep.failures
        sweep.stride = 31
        let report = try await sweep.run()
        print(report.table)
        #expect(report.violations.isEmpty, "\(report.violations.joined(separator: "\n"))")
        #expect(report.points >= 30)
    }

    @Test(
        "The power goes, on file systems of our own",
        .enabled(
            if: CrashSweep.isAvailable(.ext4) && CrashSweep.isAvailable(.xfs),
            "needs root, losetup, mkfs.ext4 and mkfs.xfs"))
    func powerCuts() async throws {
        // A program of its own: its mounts are nobody else's.
        let program = URL(fileURLWithPath: Resumectl.path).deletingLastPathComponent().path + "/crash-sweep"
        let outcome = try await Shell.outcome(
            program,
            [
                "--power-cut", "--stride", "41", "--workflow", "resume", "--workflow", "make-room", "--workflow",
                "deliver",
            ])
        print(outcome.output)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    }

    @Test("A point of a workflow that is not there is refused, and nothing is left of an interrupted sweep")
    func arguments() async throws {
        let program = URL(fileURLWithPath: Resumectl.path).deletingLastPathComponent().path + "/crash-sweep"
        for arguments in [["--workflow", "none"], ["--point", "0"], ["--file-system", "fat"], ["--fail", "pwrite"]] {
            #expect(try await Shell.outcome(program, arguments).status == 64)
        }
    }
}
