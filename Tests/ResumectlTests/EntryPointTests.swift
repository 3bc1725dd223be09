internal import Foundation
import OriginServer
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
        for words in ["--retries 0 \"http://127.0.0.1:9/$(printf 'a\\377b')\"", "-H a \"$(printf 'b: \\377')\""] {
            let script = "exec \"$0\" get --output \"$1/out\" \(words)"
            let outcome = try await Shell.outcome(
                "sh", ["-c", script, Resumectl.path, folder.path], environment: Resumectl(folder: folder).environment)
            #expect(outcome.status == 64, "\(outcome.errors)")
            #expect(outcome.errors == "resumectl: argument 5 is not valid UTF-8\n")
            #expect(try Files.names(in: folder.path).isEmpty)
        }
    }

    @Test(
        "Folders and files whose names are not UTF-8 are used as they are, also by a later run in another folder",
        arguments: [
            ("", "-o out"), ("--store \"$F/st\"", "-o out"), ("--store=\"$F/st\"", "-o \"$F/$(printf 'z\\377')\""),
            ("", "-P \"$F\""),
        ])
    func otherNames(store: String, output: String) async throws {
        let resource = Resource(Content(length: 300_000, seed: 1), etag: "\"v1\"")
        try await OriginServer.withServer(handler: {
            .file(resource, for: $0, cutAfter: $0.field("range") == nil ? 100_000 : nil)
        }) { server in
            // The working folder, and the home with the store that no option names.
            let script = """
                F="$1/$(printf 'd\\351p')"; mkdir "$F"; cd "$F"; export HOME="$F"; unset RESUMECTL_STORE XDG_CACHE_HOME
                "$0" get \(server.baseURL)/file --retries 0 \(store) \(output); echo "cut $?"
                cd "$1"; "$0" resume \(store) --retries 0 --shell --on-complete 'stat -c %s "$RESUMECTL_PATH"' > size 2>&1
                echo "resumed $?"
                "$0" history \(store); for file in *; do printf '%s\\n' "$file"; done | od -An -c
                ls "$F" | od -An -c; cat size
                """
            let outcome = try await Shell.outcome(
                "sh", ["-c", script, Resumectl.path, folder.path], environment: ["no_proxy": "127.0.0.1"])
            #expect(outcome.output.contains("cut 75\n") && outcome.output.contains("resumed 0\n"), "\(outcome)")
            let name = output.hasPrefix("-P") ? "f   i   l   e" : output.contains("z") ? "z 377" : "o   u   t"
            // One folder, with this name.
            #expect(outcome.output.contains("   d 351   p  \\n   s   i   z   e  \\n\n"), "\(outcome)")
            #expect(outcome.output.contains("\(name)  \\n"), "\(outcome)")
            #expect(outcome.output.contains("\n300000\n"), "\(outcome)")
            // Messages show the byte.
            #expect(outcome.output.contains("/d\\xE9p/"), "\(outcome)")
        }
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
