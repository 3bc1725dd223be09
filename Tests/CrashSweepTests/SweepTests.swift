import CrashSweep
import FaultInjection
import Foundation
import TestSupport
import Testing

/// Short sweeps; `make sweep` runs the long one.
@Suite(
    .enabled(if: FaultShim.isAvailable, "There is no C compiler, or this is not Linux."), .serialized,
    .timeLimit(.minutes(20)))
struct SweepTests {
    private static let program = URL(fileURLWithPath: Resumectl.path).deletingLastPathComponent().path + "/crash-sweep"

    @Test("Process death: nothing wrong, nothing lost, little fetched again, the order of calls kept")
    func deaths() async throws {
        var sweep = CrashSweep(program: Resumectl.path, fileSystems: [.plain])
        sweep.stride = 131
        let report = try await sweep.run()
        print(report.table)
        #expect(report.violations.isEmpty, "\(report.violations.joined(separator: "\n"))")
        #expect(report.points >= 30)
    }

    @Test("Failing calls are reported or have no effect, and the next run finishes")
    func failures() async throws {
        var sweep = CrashSweep(program: Resumectl.path, fileSystems: [.plain])
        sweep.workflows = ["resume", "elsewhere"]
        sweep.faults = CrashSweep.failures
        sweep.stride = 101
        let report = try await sweep.run()
        print(report.table)
        #expect(report.violations.isEmpty, "\(report.violations.joined(separator: "\n"))")
        #expect(report.points >= 30)
    }

    @Test(
        "Power loss, on file systems of the test",
        .enabled(
            if: CrashSweep.isAvailable(.ext4) && CrashSweep.isAvailable(.xfs),
            "needs root, mount, mkfs.ext4 and mkfs.xfs"))
    func powerCuts() async throws {
        // A separate program, so that its mounts are private.
        let outcome = try await Shell.outcome(
            Self.program,
            [
                "--power-cut", "--stride", "41", "--workflow", "resume", "--workflow", "make-room", "--workflow",
                "deliver",
            ])
        print(outcome.output)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
    }

    /// The images in a folder that have loop devices.
    private static func devices(in folder: TemporaryFolder) async throws -> [Substring] {
        try await Shell.run("losetup", "--list", "--noheadings", "--output", "BACK-FILE").split(separator: "\n")
            .filter { $0.contains(folder.path) }
    }

    @Test("Unknown options are refused")
    func arguments() async throws {
        for arguments in [["--workflow", "none"], ["--point", "0"], ["--file-system", "fat"], ["--fail", "pwrite"]] {
            #expect(try await Shell.outcome(Self.program, arguments).status == 64, "\(arguments)")
        }
    }

    @Test(
        "An interrupted or killed sweep leaves nothing behind", .enabled(if: CrashSweep.isAvailable(.ext4)),
        arguments: [SIGINT, SIGKILL])
    func interruption(_ signal: Int32) async throws {
        try await TemporaryFolder.with { folder in
            try await Shell.run("mkdir", folder["images"])
            let arguments = ["--folder", folder["images"], "--file-system", "ext4", "--workflow", "large"]
            let process = try Shell.start(Self.program, arguments, output: folder["output"])
            // Both of its file systems are mounted.
            while process.isRunning, try await Self.devices(in: folder).count < 2 {
                try await Task.sleep(for: .milliseconds(20))
            }
            process.send(signal)
            #expect(await process.wait() == (signal == SIGINT ? .exited(130) : .killed(SIGKILL)))
            // When killed it cannot remove its files, but mounts and devices disappear with it.
            if signal == SIGINT { #expect(try Files.names(in: folder["images"]).isEmpty) }
            // The system releases the devices of a process some time after its end.
            var devices = try await Self.devices(in: folder)
            for _ in 0..<3000 where !devices.isEmpty {
                try await Task.sleep(for: .milliseconds(20))
                devices = try await Self.devices(in: folder)
            }
            #expect(devices.isEmpty)
            #expect(try await !Shell.run("cat", "/proc/self/mounts").contains(folder.path))
        }
    }
}
