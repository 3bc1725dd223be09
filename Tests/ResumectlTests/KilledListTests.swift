import Foundation
import OriginServer
import TestSupport
import Testing

/// A list of files whose processes are killed at random moments and continued by `resume` from another folder.
@Suite(.timeLimit(.minutes(20)))
struct KilledListTests {
    private static let seed: UInt64 = 21
    private static let kills = 8

    @Test("A list that is killed at random moments is continued by resume, and no finished file is requested again")
    func killedList() async throws {
        try await TemporaryFolder.with { folder in
            var random = SplitMix64(seed: Self.seed)
            let lengths = (0..<100).map { $0 % 3 == 0 ? Int64.random(in: 200_000...3_000_000, using: &random) : 16_384 }
            let contents = lengths.enumerated().map { Content(length: $1, seed: UInt64($0)) }
            let size = lengths.reduce(0, +)
            try await OriginServer.withServer(
                sendBufferSize: 65_536,
                handler: { request in
                    let number = Int(request.path.dropFirst()) ?? 0
                    return .file(
                        Resource(contents[number], etag: "\"\(number)\""), for: request, bytesPerSecond: 1_000_000)
                },
                { server in
                    let list = contents.indices.map { "\(server.baseURL)/\($0)" }.joined(separator: "\n")
                    try Files.write(Array(list.utf8), to: folder["list"])
                    for name in ["out", "elsewhere"] {
                        try FileManager.default.createDirectory(
                            atPath: folder[name], withIntermediateDirectories: true)
                    }
                    let program = Resumectl(folder: folder)
                    var finished: Set<String> = []
                    var killed = 0
                    for run in 0...Self.kills {
                        let arguments =
                            run == 0
                            ? ["get", "-i", folder["list"], "-P", folder["out"], "--json"] : ["resume", "--json"]
                        let (count, bytes) = (server.requests.count, server.bodyBytesSent)
                        let left = max(size - bytes, 1) / Int64(Self.kills - run / 2)
                        let enough = bytes + Int64.random(in: 1...max(left, 1), using: &random)
                        let events = folder["events\(run)"]
                        let process = try Shell.start(
                            "env", ["-C", folder[run == 0 ? "." : "elsewhere"], Resumectl.path] + arguments,
                            environment: program.environment, output: events)
                        if run < Self.kills {
                            // On a busy machine, it may end before it is seen that enough was sent.
                            try await wait(for: "\(enough) bytes in run \(run)") {
                                server.bodyBytesSent >= enough || !process.isRunning
                            }
                            process.send(SIGKILL)
                        }
                        let ending = await process.wait()
                        if ending == .killed(SIGKILL) { killed += 1 }
                        let text = String(decoding: try Files.bytes(events), as: UTF8.self)
                        let isKilled = run < Self.kills && ending == .killed(SIGKILL)
                        #expect(isKilled || ending == .exited(0), "\(text)")
                        let requested = Set(server.requests.dropFirst(count).map { "\(server.baseURL)\($0.path)" })
                        #expect(requested.isDisjoint(with: finished), "run \(run) of seed \(Self.seed)")
                        for event in try Resumectl.events(in: events) where event["event"] as? String == "finished" {
                            finished.insert(event["url"] as? String ?? "")
                        }
                    }
                    for (number, content) in contents.enumerated() {
                        #expect(content.matches(try Files.bytes(folder["out/\(number)"])), "file \(number)")
                    }
                    #expect(killed > 0)
                    #expect(try await program.run("jobs").output.isEmpty)
                    // Not asserted: the number of bytes in transit at each kill depends on the machine.
                    let ratio = Double(server.bodyBytesSent) / Double(size)
                    print(
                        "a list killed \(killed) times: \(server.requests.count) requests, \(ratio) times the size")
                })
        }
    }
}
