import CrashSweep
import OriginServer
import TestSupport
import Testing

/// The real program on a disk without a free byte.
@Suite(.enabled(if: Shell.isRoot && Shell.has("mount"), "needs to mount a file system"), .timeLimit(.minutes(5)))
struct FullDiskTests {
    @Temporary private var folder

    @Test("gc and purge work without a free byte", arguments: [["gc", "--max-size", "0"], ["purge", "--all"]])
    func removal(_ command: [String]) async throws {
        try await folder.withDisk("-t tmpfs -o size=8m tmpfs") { try await Self.fill(folder, command) }
    }

    @Test("A file that does not fit the destination is refused before it is fetched, also when it is resumed")
    func destination() async throws {
        try await folder.withDisk("-t tmpfs -o size=2m tmpfs") { try await Self.refuse(folder) }
    }

    @Test("E6: a body without a length leaves room for the store; get collects what is stale, and refuses otherwise")
    func endless() async throws {
        try await folder.withDisk("-t tmpfs -o size=12m tmpfs") { try await Self.fillWithEndlessBody(folder) }
    }

    private static func fillWithEndlessBody(_ folder: TemporaryFolder) async throws {
        let server = try await OriginServer.start { request in
            var file = Resource(
                Content(length: request.path == "/endless" ? 40_000_000 : 3_000_000, seed: 1), etag: "\"v1\"")
            if request.path == "/endless" { file.framing = .chunked(size: 50_000) }
            return .file(file, for: request)
        }
        let variables = ["RESUMECTL_STORE": folder["disk/store"], "no_proxy": "127.0.0.1"]
        func run(_ arguments: String...) async throws -> Shell.Outcome {
            try await Shell.outcome(Resumectl.path, arguments, environment: variables)
        }
        let endless = try await run("get", "\(server.baseURL)/endless", "-o", folder["endless"])
        #expect(endless.status == 74 && endless.errors.contains("'resumectl purge KEY'"), "\(endless.errors)")
        // The unfinished download is not stale.
        let refused = try await run("get", "\(server.baseURL)/file", "-o", folder["file"])
        #expect(refused.status == 74 && refused.errors.contains("gc --max-size SIZE"), "\(refused.errors)")
        #expect(try await run("jobs").output.contains("endless"))
        try await Shell.run(
            "sqlite3", folder["disk/store/store.sqlite"], "UPDATE download SET used_at = used_at - 8 * 86400000")
        // Another program fills the rest of the disk.
        _ = try await Shell.outcome("dd", ["if=/dev/zero", "of=\(folder["disk/filler"])", "bs=4096"])
        let got = try await run("get", "\(server.baseURL)/file", "-o", folder["file"])
        #expect(got.status == 0 && got.errors.contains("removed \(server.baseURL)/endless"), "\(got.errors)")
        try await server.stop()
    }

    private static func refuse(_ folder: TemporaryFolder) async throws {
        let content = Content(length: 3_000_000, seed: 1)
        let server = try await OriginServer.start { request in
            .file(Resource(content, etag: "\"v1\""), for: request, cutAfter: request.number < 3 ? 1_500_000 : nil)
        }
        let program = Resumectl(folder: folder)
        func get(_ path: String) async throws -> Shell.Outcome {
            try await program.run("get", "\(server.baseURL)/file", "--retries", "0", "-o", path)
        }
        for received in [0, 1_500_000] {
            let refused = try await get(folder["disk/file"])
            #expect(refused.status == 74, "\(refused.errors)")
            let message = "the file has 3000000 bytes, but only 2097152 bytes are free in the folder \(folder["disk"])"
            #expect(refused.errors.contains(message), "\(refused.errors)")
            #expect(try await program.received() == received)
            // The bytes are received for another destination.
            if received == 0 { #expect(try await get(folder["file"]).status == 75) }
        }
        #expect(try await get(folder["file"]).status == 0)
        try await server.stop()
    }

    private static func fill(_ folder: TemporaryFolder, _ command: [String]) async throws {
        let content = Content(length: 3_000_000, seed: 1)
        let server = try await OriginServer.start { request in
            .file(Resource(content, etag: "\"v1\""), for: request, cutAfter: 1_500_000)
        }
        func run(_ arguments: [String]) async throws -> Shell.Outcome {
            let variables = ["RESUMECTL_STORE": folder["disk/store"], "no_proxy": "127.0.0.1"]
            return try await Shell.outcome(Resumectl.path, arguments, environment: variables)
        }
        for name in ["a", "b"] {
            let held = try await run(["get", "\(server.baseURL)/\(name)", "-o", folder[name], "--retries", "0"])
            #expect(held.status == 75, "\(held.errors)")
        }
        // To the last byte: a file in memory grows by whole pages, and so does a folder.
        _ = try await Shell.outcome("dd", ["if=/dev/zero", "of=\(folder["disk/filler"])", "bs=4096"])
        let full = try await Shell.outcome("dd", ["if=/dev/zero", "of=\(folder["disk/more"])", "bs=1", "count=1"])
        #expect(full.status != 0, "it is full")
        let more = try await run(["get", "\(server.baseURL)/a", "-o", folder["a"], "--retries", "0"])
        #expect(more.status == 74, "\(more.errors)")
        let outcome = try await run(command)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let left = try await run(["list", "--json"])
        #expect(left.status == 0 && left.output.isEmpty, "\(left.output)\(left.errors)")
        #expect(try Files.names(in: folder["disk/store/blobs"]).isEmpty)
        let check = try await run(["verify"])
        #expect(check.status == 0, "\(check.output)\(check.errors)")
        try await server.stop()
    }
}
