import Foundation
import OriginServer
import TestSupport
import Testing

/// Several processes on one store.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CrowdTests {
    @Temporary private var folder
    private let servers = Servers()
    private static let content = Content(length: 20_000_000, seed: 1)
    private static let file = Resource(content, etag: "\"v1\"")

    /// Whether a `get --json` has reported that it waits for another process.
    private static func waits(_ output: String) throws -> Bool {
        try Resumectl.events(in: output).contains { $0["event"] as? String == "waiting" }
    }

    @Test("M08: four processes, one URL, four files: one fetch")
    func fourOfOne() async throws {
        let program = Resumectl(folder: folder)
        let rest = Gate()
        let server = try await servers.serve { .file(Self.file, for: $0, pausingAt: 10_000_000, for: .gate(rest)) }
        let processes = try (1...4).map { number in
            try program.start(
                ["get", "\(server.baseURL)/file", "--output", folder["out\(number)"], "--json"]
                    + ["--stall-timeout", "600"],
                output: folder["events\(number)"])
        }
        // The file does not end before three of them wait for the one that fetches it.
        try await wait(for: "three processes to wait") {
            try (1...4).count { try Self.waits(folder["events\($0)"]) } == 3
        }
        rest.open()
        for process in processes {
            await process.wait()
            #expect(process.result == .exited(0))
        }
        #expect(server.requests.count == 1)
        for number in 1...4 {
            let bytes = try Files.bytes(folder["out\(number)"])
            #expect(bytes.count == 20_000_000 && Self.content.matches(bytes))
        }
        #expect(try await program.run("list").output.isEmpty)
        #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
    }

    @Test("A waiting process takes over when the owner is killed, and resumes from the same offset")
    func takeover() async throws {
        let program = Resumectl(folder: folder)
        let held = 8_000_000
        let server = try await servers.serve { request in
            let isFirst = request.number == 1
            return .file(Self.file, for: request, cutAfter: isFirst ? Int64(held) : nil, stall: isFirst)
        }
        let get = ["get", "\(server.baseURL)/file", "--json", "--stall-timeout", "600", "--output"]
        let owner = try program.start(get + [folder["out1"]], output: folder["events1"])
        try await wait(for: "the owner to hold its part", while: owner) {
            try await program.received() == held
        }
        let waiting = try program.start(get + [folder["out2"]], output: folder["events2"])
        try await wait(for: "the other one to wait", while: waiting) { try Self.waits(folder["events2"]) }
        owner.send(SIGKILL)
        await waiting.wait()
        #expect(waiting.result == .exited(0))
        #expect(server.requests.count == 2)
        // Some of the stored bytes are requested again for comparison.
        let first = Int(server.requests.last?.byteRange?.first ?? 0)
        #expect((held - 65_536..<held).contains(first), "\(first)")
        let bytes = try Files.bytes(folder["out2"])
        #expect(bytes.count == 20_000_000 && Self.content.matches(bytes))
    }

    @Test("M09: sixteen processes and URLs, with the collector running: all finish, and the database is intact")
    func sixteen() async throws {
        let program = Resumectl(folder: folder)
        let length: Int64 = 5_000_000
        let server = try await servers.serve { request in
            let seed = UInt64(request.path.dropFirst()) ?? 0
            return .file(Resource(Content(length: length, seed: seed), etag: "\"v1\""), for: request)
        }
        let processes = try (1...16).map { number in
            try program.start("get", "\(server.baseURL)/\(number)", "--output", folder["out\(number)"])
        }
        repeat {
            let collected = try await program.run("gc", "--max-size", "0")
            #expect(collected.status == 0 || collected.status == 66, "\(collected.errors)")
        } while processes.contains(where: \.isRunning)
        for process in processes { #expect(process.result == .exited(0)) }
        #expect(server.requests.count == 16)
        for number in 1...16 {
            let bytes = try Files.bytes(folder["out\(number)"])
            #expect(Int64(bytes.count) == length && Content(length: length, seed: UInt64(number)).matches(bytes))
        }
        #expect(try await Shell.run("sqlite3", folder["store/store.sqlite"], "PRAGMA integrity_check") == "ok\n")
        let verified = try await program.run("verify")
        #expect(verified.status == 0, "\(verified.output)")
    }
}
