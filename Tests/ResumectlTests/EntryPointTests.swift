import OriginServer
import TestSupport
import Testing

/// How the program gets its arguments.
@Suite(.timeLimit(.minutes(5)))
struct EntryPointTests {
    private static let file = Resource(Content(length: 300_000, seed: 1), etag: "\"v1\"")

    /// Runs the program where nothing is mounted at `/proc`.
    private static func run(_ program: Resumectl, _ arguments: [String]) async throws -> Shell.Outcome {
        let script = "mount -t tmpfs none /proc && exec \"$0\" \"$@\""
        return try await Shell.outcome(
            "unshare", ["--mount", "sh", "-c", script, Resumectl.path] + arguments, environment: program.environment)
    }

    @Test(
        "Without /proc each command does what was asked, and one that there is not fails",
        .enabled(if: Shell.isRoot && Shell.has("unshare"), "needs root and unshare"))
    func withoutProc() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            try await OriginServer.withServer(handler: { .file(Self.file, for: $0, cutAfter: 100_000) }) { server in
                let url = "\(server.baseURL)/file"
                let get = ["get", url, "--output", folder["out"], "--retries", "0"]
                let cut = try await Self.run(program, get)
                #expect(cut.status == 75, "\(cut.errors)")
                let list = try await Self.run(program, ["list"])
                #expect(list.status == 0 && list.output.contains("partial") && list.output.contains(url), "\(list)")
                server.setHandler { .file(Self.file, for: $0) }
                let whole = try await Self.run(program, get)
                #expect(whole.status == 0, "\(whole.errors)")
                let isWhole = Self.file.content.matches(try Files.bytes(folder["out"]))
                #expect(isWhole)
            }
            let unknown = try await Self.run(program, ["frobnicate"])
            #expect(unknown.status == 64 && unknown.output.isEmpty, "\(unknown)")
            #expect(unknown.errors.contains("frobnicate"), "\(unknown.errors)")
            let version = try await Self.run(program, ["--version"])
            #expect(version.status == 0 && version.output == "0.1.0\n", "\(version)")
            let help = try await Self.run(program, ["help", "get"])
            #expect(help.status == 0 && help.output.contains("--output"), "\(help)")
        }
    }

    @Test("An argument that is no UTF-8 is refused, and nothing is done in its place")
    func notUTF8() async throws {
        try await TemporaryFolder.with { folder in
            let script = "exec \"$0\" get http://127.0.0.1:9/file --retries 0 --output \"$1/$(printf 'a\\377b')\""
            let outcome = try await Shell.outcome(
                "sh", ["-c", script, Resumectl.path, folder.path], environment: Resumectl(folder: folder).environment)
            #expect(outcome.status == 64, "\(outcome.errors)")
            #expect(outcome.errors == "resumectl: argument 6 is not valid UTF-8\n")
            #expect(try Files.names(in: folder.path).isEmpty)
        }
    }
}
