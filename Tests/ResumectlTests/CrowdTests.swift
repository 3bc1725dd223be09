import Foundation
import OriginServer
import TestSupport
import Testing

/// Several processes on one store.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct CrowdTests {
    @Test("M08: four processes, one URL, four files: one fetch")
    func fourOfOne() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let content = Content(length: 20_000_000, seed: 1)
            try await OriginServer.withServer(
                handler: { .file(Resource(content, etag: "\"v1\""), for: $0, bytesPerSecond: 10_000_000) },
                { server in
                    let processes = try (1...4).map { number in
                        try program.start("get", "\(server.baseURL)/file", "--output", folder["out\(number)"])
                    }
                    for process in processes {
                        await process.wait()
                        #expect(process.result == .exited(0))
                    }
                    #expect(server.requests.count == 1)
                })
            for number in 1...4 {
                let bytes = try Files.bytes(folder["out\(number)"])
                #expect(bytes.count == 20_000_000 && content.matches(bytes))
            }
            #expect(try await program.run("list").output.isEmpty)
            #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
        }
    }

    @Test("A process that waits takes over when the owner is killed, and goes on where it was")
    func takeover() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let content = Content(length: 20_000_000, seed: 1)
            try await OriginServer.withServer(
                handler: { .file(Resource(content, etag: "\"v1\""), for: $0, bytesPerSecond: 8_000_000) },
                { server in
                    let owner = try program.start("get", "\(server.baseURL)/file", "--output", folder["out1"])
                    while server.bodyBytesSent < 4_000_000 { try await Task.sleep(for: .milliseconds(10)) }
                    let waiting = try program.start("get", "\(server.baseURL)/file", "--output", folder["out2"])
                    while server.bodyBytesSent < 8_000_000 { try await Task.sleep(for: .milliseconds(10)) }
                    owner.send(SIGKILL)
                    await waiting.wait()
                    #expect(waiting.result == .exited(0))
                    #expect(server.requests.count == 2)
                    #expect((server.requests.last?.byteRange?.first ?? 0) > 6_000_000)
                })
            let bytes = try Files.bytes(folder["out2"])
            #expect(bytes.count == 20_000_000 && content.matches(bytes))
        }
    }

    @Test("M09: sixteen processes, sixteen URLs, the collector running: all done, and the database is whole")
    func sixteen() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let length: Int64 = 5_000_000
            try await OriginServer.withServer(
                handler: { request in
                    let seed = UInt64(request.path.dropFirst()) ?? 0
                    return .file(Resource(Content(length: length, seed: seed), etag: "\"v1\""), for: request)
                },
                { server in
                    let processes = try (1...16).map { number in
                        try program.start("get", "\(server.baseURL)/\(number)", "--output", folder["out\(number)"])
                    }
                    while processes.contains(where: \.isRunning) {
                        let collected = try await program.run("gc", "--max-size", "0")
                        #expect(collected.status == 0 || collected.status == 66, "\(collected.errors)")
                    }
                    for process in processes { #expect(process.result == .exited(0)) }
                    #expect(server.requests.count == 16)
                })
            for number in 1...16 {
                let bytes = try Files.bytes(folder["out\(number)"])
                #expect(Int64(bytes.count) == length && Content(length: length, seed: UInt64(number)).matches(bytes))
            }
            #expect(try await Shell.run("sqlite3", folder["store/store.sqlite"], "PRAGMA integrity_check") == "ok\n")
            let verified = try await program.run("verify")
            #expect(verified.status == 0, "\(verified.output)")
        }
    }
}
