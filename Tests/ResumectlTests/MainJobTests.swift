import Foundation
import OriginServer
import TestSupport
import Testing

/// The main job as its users run it: processes, signals, a real origin.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct MainJobTests {
    @Test(
        "nginx, 200 MiB, SIGKILL at twenty random moments: right, and at most 1.05 times the size is sent",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func killedTwentyTimes() async throws {
        let job = try await KilledGet.run(rate: "20m")
        #expect(job.sent <= 1.05)
        #expect(job.log.filter { $0.status == 206 }.count >= 10, "it did go on")
    }

    @Test(
        "nginx: a file that changes between two runs comes new and whole, and the reason is told",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func changedOnNginx() async throws {
        try await TemporaryFolder.with { folder in
            let new = sampleBytes(8_000_000, seed: 2)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(sampleBytes(8_000_000), to: folder["www/file"])
            try await Shell.run("touch", "-d", "2024-01-01", folder["www/file"])
            let nginx = try await Nginx(serving: folder["www"], rate: "4m")
            let program = Resumectl(folder: folder)
            let process = try program.start("get", nginx.url("slow/file"), "--output", folder["out"])
            try await Task.sleep(for: .seconds(1))
            process.send(SIGKILL)
            await process.wait()
            #expect(try await program.run("list").output.contains("partial"))
            try Files.write(new, to: folder["www/file"])
            let outcome = try await program.run("get", nginx.url("slow/file"), "--output", folder["out"])
            await nginx.stop()
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("its entity tag was"))
            let same = try Files.bytes(folder["out"]) == new
            #expect(same)
            let log = try await program.run("log", "--json", nginx.url("slow/file"))
            #expect(log.output.contains("\"kind\":\"restarted\"") && log.output.contains("\"entity-tag-changed\""))
        }
    }

    @Test("An interruption counts from the first moment on", arguments: [SIGINT, SIGTERM])
    func interruptedEarly(signal: Int32) async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let file = Resource(Content(length: 3_000_000, seed: 1), etag: "\"v1\"")
            try await OriginServer.withServer(handler: { .file(file, for: $0, bytesPerSecond: 300_000) }) { server in
                for delay in 2..<22 {
                    let process = try program.start("get", "\(server.baseURL)/file", "--output", folder["out"])
                    try await Task.sleep(for: .milliseconds(delay))
                    process.send(signal)
                    let began = ContinuousClock.now
                    await process.wait()
                    #expect(ContinuousClock.now - began < .seconds(5), "after \(delay) ms")
                    #expect(!Files.exists(folder["out"]))
                }
            }
        }
    }

    @Test("Data that cannot be written to standard output is told; a reader that has enough is no failure")
    func fullOutput() async throws {
        try await TemporaryFolder.with { folder in
            let file = Resource(Content(length: 100_000, seed: 1), etag: "\"v1\"")
            try await OriginServer.withServer(handler: { .file(file, for: $0) }) { server in
                let get =
                    "no_proxy=127.0.0.1 \(Resumectl.path) get --json --store \(folder["store"]) \(server.baseURL)/file --output"
                let full = try await Shell.outcome("sh", ["-c", "\(get) \(folder["one"]) > /dev/full"])
                #expect(full.status == 74 && full.errors.contains("standard output"), "\(full.errors)")
                #expect(Files.exists(folder["one"]))
                let closed = try await Shell.outcome(
                    "sh", ["-c", "(\(get) \(folder["two"]); echo $? > \(folder["status"])) | true"])
                #expect(closed.status == 0)
                #expect(try Files.bytes(folder["status"]) == Array("0\n".utf8))
            }
        }
    }

    @Test("T2: an origin that answers 206 for a changed file is not believed; show and log say why")
    func changedWith206() async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let old = Content(length: 3_000_000, seed: 1)
            let new = Content(length: 3_000_000, seed: 2)
            try await OriginServer.withServer(
                handler: { .file(Resource(old, etag: "\"v1\""), for: $0, cutAfter: 1_500_000) },
                { server in
                    let url = "\(server.baseURL)/file"
                    let first = try await program.run("get", url, "--output", folder["out"], "--retries", "0")
                    #expect(first.status == 75, "\(first.errors)")
                    var changed = Resource(new, etag: "\"v2\"")
                    changed.ignoresIfRange = true
                    let liar = changed
                    server.setHandler { .file(liar, for: $0, cutAfter: 2_000_000) }
                    let second = try await program.run("get", url, "--output", folder["out"], "--retries", "0")
                    #expect(second.status == 75)
                    for command in ["show", "log"] {
                        let told = try await program.run(command, url).output
                        #expect(told.contains("its entity tag was \"v1\" and is now \"v2\""), "\(told)")
                    }
                    server.setHandler { .file(liar, for: $0) }
                    let third = try await program.run("get", url, "--output", folder["out"], "--retries", "0")
                    #expect(third.status == 0, "\(third.errors)")
                })
            let bytes = try Files.bytes(folder["out"])
            #expect(bytes.count == 3_000_000 && new.matches(bytes))
        }
    }

    @Test("SIGINT ends with 130 and SIGTERM with 75, and what came is kept", arguments: [SIGINT, SIGTERM])
    func signals(signal: Int32) async throws {
        try await TemporaryFolder.with { folder in
            let program = Resumectl(folder: folder)
            let resource = Resource(Content(length: 50_000_000, seed: 1), etag: "\"v1\"")
            try await OriginServer.withServer(
                handler: { .file(resource, for: $0, bytesPerSecond: 5_000_000) },
                { server in
                    let process = try program.start("get", "\(server.baseURL)/file", "--output", folder["out"])
                    // What the server has sent may still be on its way.
                    while try await Self.received(program) < 1_500_000 { try await Task.sleep(for: .milliseconds(50)) }
                    process.send(signal)
                    await process.wait()
                    #expect(process.result == .exited(signal == SIGINT ? 130 : 75))
                })
            let entry = try await Self.entry(program)
            #expect((entry?["receivedBytes"] as? Int ?? 0) >= 1_500_000)
            #expect(entry?["inUse"] as? Bool == false)
        }
    }

    /// The only entry of the store; nil where there is none yet.
    private static func entry(_ program: Resumectl) async throws -> [String: Any]? {
        let list = try await program.run("list", "--json").output
        return try? JSONSerialization.jsonObject(with: Data(list.utf8)) as? [String: Any]
    }

    private static func received(_ program: Resumectl) async throws -> Int {
        try await entry(program)?["receivedBytes"] as? Int ?? 0
    }
}
