import Foundation
import OriginServer
import Synchronization
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
            // A body that is held keeps the process alive until it is killed, however busy the machine is.
            let brake = Mutex((requests: 0, allowed: 0))
            try await OriginServer.withServer(
                sendBufferSize: 65_536,
                handler: { request in
                    let number = Int(request.path.dropFirst()) ?? 0
                    let isHeld = brake.withLock { brake in
                        brake.requests += 1
                        return brake.requests > brake.allowed
                    }
                    return .file(
                        Resource(contents[number], etag: "\"\(number)\""), for: request, bytesPerSecond: 1_000_000,
                        for: isHeld ? .hold : nil)
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
                    for run in 0...Self.kills {
                        let arguments =
                            run == 0
                            ? ["get", "-i", folder["list"], "-P", folder["out"], "--json"] : ["resume", "--json"]
                        let count = server.requests.count
                        let allowed = run < Self.kills ? Int.random(in: 1...11, using: &random) : .max
                        brake.withLock { $0 = (0, allowed) }
                        let events = folder["events\(run)"]
                        let process = try Shell.start(
                            "env", ["-C", folder[run == 0 ? "." : "elsewhere"], Resumectl.path] + arguments,
                            environment: program.environment, output: events)
                        if run < Self.kills {
                            try await wait(for: "a body that is held in run \(run)") {
                                brake.withLock { $0.requests > $0.allowed } || !process.isRunning
                            }
                            process.send(SIGKILL)
                        }
                        let ending = await process.wait()
                        let text = String(decoding: try Files.bytes(events), as: UTF8.self)
                        #expect(ending == (run < Self.kills ? .killed(SIGKILL) : .exited(0)), "run \(run): \(text)")
                        let requested = Set(server.requests.dropFirst(count).map { "\(server.baseURL)\($0.path)" })
                        #expect(requested.isDisjoint(with: finished), "run \(run) of seed \(Self.seed)")
                        for event in try Resumectl.events(in: events) where event["event"] as? String == "finished" {
                            finished.insert(event["url"] as? String ?? "")
                        }
                    }
                    for (number, content) in contents.enumerated() {
                        #expect(content.matches(try Files.bytes(folder["out/\(number)"])), "file \(number)")
                    }
                    #expect(try await program.run("jobs").output.isEmpty)
                    // Not asserted: the number of bytes in transit at each kill depends on the machine.
                    let ratio = Double(server.bodyBytesSent) / Double(size)
                    print(
                        "a list killed \(Self.kills) times: \(server.requests.count) requests, \(ratio) times the size")
                })
        }
    }
}
