import Foundation
import Glibc
import TestSupport
import Testing

/// The check at the end of `make test`: it fails if a run leaves anything behind, and ends it.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Shell.has("unshare"), "Linux only"))
struct LeakCheckTests {
    private static func check(_ command: String) async throws -> Shell.Outcome {
        let script = ReadmeTests.root.appendingPathComponent("Scripts/without-leaks.sh").standardizedFileURL.path
        return try await Shell.outcome(script, ["sh", "-c", command], environment: ["PATIENCE": "1"])
    }

    @Test("A run that ends everything keeps its status", arguments: [0, 7])
    func clean(status: Int32) async throws {
        let outcome = try await Self.check("sleep 0.01 & wait; exit \(status)")
        #expect(outcome.status == status, "\(outcome.errors)")
        #expect(outcome.output == "no process and no mount left behind\n")
    }

    @Test(
        "A leftover process fails the run and is ended, in the run's process group or in a separate session",
        arguments: ["sleep 600 & echo $!", "setsid sh -c 'echo $$; exec sleep 600' & sleep 0.2"])
    func leakedProcess(command: String) async throws {
        let outcome = try await Self.check("(\(command)) 2>/dev/null")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("left behind: 1 processes, 0 mounts"), "\(outcome.errors)")
        #expect(outcome.errors.contains("sleep 600"))
        let identifier = try #require(pid_t(outcome.output.split(separator: "\n").first ?? ""))
        // The process that adopted it reaps it some time later.
        try await wait(for: "process \(identifier) to end") { kill(identifier, 0) != 0 }
    }

    @Test(
        "A leftover mount fails the run and is removed",
        .enabled(if: Shell.isRoot && Shell.has("mount"), "needs to mount a file system"))
    func leakedMount() async throws {
        let outcome = try await Self.check("mkdir $TMPDIR/disk && mount -t tmpfs none $TMPDIR/disk && echo $TMPDIR")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("left behind: 0 processes, 1 mounts"), "\(outcome.errors)")
        let folder = String(outcome.output.split(separator: "\n").first ?? "")
        #expect(folder.hasPrefix("/") && !FileManager.default.fileExists(atPath: folder))
    }
}
