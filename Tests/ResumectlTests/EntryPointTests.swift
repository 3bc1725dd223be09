internal import Foundation
import TestSupport
import Testing

/// How the program gets its arguments.
@Suite(.timeLimit(.minutes(5)))
struct EntryPointTests {
    @Temporary private var folder

    /// Runs the program with nothing mounted at `/proc`.
    private static func run(_ program: Resumectl, _ arguments: [String]) async throws -> Shell.Outcome {
        let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\""
        return try await Shell.outcome(
            "unshare", ["--mount", "sh", "-c", script, Resumectl.path] + arguments, environment: program.environment)
    }

    @Test(
        "Without /proc each command fails with a reason: none exits with 0 without doing its work",
        .enabled(if: Shell.isRoot && Shell.has("unshare"), "needs root and unshare"),
        arguments: [["list"], ["get", "http://127.0.0.1:9/file"], ["--version"], ["frobnicate"], []])
    func withoutProc(arguments: [String]) async throws {
        // libdispatch would trap occasionally.
        for _ in 0..<5 {
            let outcome = try await Self.run(Resumectl(folder: folder), arguments)
            #expect(outcome.status == 74 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("/proc is not mounted"), "\(outcome.errors)")
        }
    }

    @Test("An argument that is not UTF-8 is refused, and nothing is done")
    func notUTF8() async throws {
        let script = "exec \"$0\" get http://127.0.0.1:9/file --retries 0 --output \"$1/$(printf 'a\\377b')\""
        let outcome = try await Shell.outcome(
            "sh", ["-c", script, Resumectl.path, folder.path], environment: Resumectl(folder: folder).environment)
        #expect(outcome.status == 64, "\(outcome.errors)")
        #expect(outcome.errors == "resumectl: argument 5 is not valid UTF-8\n")
        #expect(try Files.names(in: folder.path).isEmpty)
    }

    @Test(
        "verify and gc lower their priority before the first thread inherits it; other commands keep theirs",
        .enabled(if: Shell.has("strace"), "needs strace"), arguments: ["verify", "gc", "list"])
    func priority(command: String) async throws {
        let program = Resumectl(folder: folder)
        let trace = folder["trace"]
        let outcome = try await Shell.outcome(
            "strace", ["-f", "-o", trace, "-e", "trace=setpriority,clone,clone3", Resumectl.path, command],
            environment: program.environment)
        // There is no store.
        #expect(outcome.status == (command == "verify" ? 66 : 0), "\(outcome.errors)")
        let calls = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
            .filter { $0.contains("setpriority(") || $0.contains("clone") }
        #expect(calls.count > 1)
        #expect(calls.first?.contains("setpriority(PRIO_PROCESS, 0, 10)") == (command != "list"), "\(calls)")
    }
}
