import Foundation
import OriginServer
import TestSupport
import Testing

/// One file over several connections as its users run it: processes, signals, a real origin.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct SegmentTests {
    @Test(
        "nginx, four connections, SIGKILL at twenty random moments: right, and at most 1.10 times the size is sent",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func killedTwentyTimes() async throws {
        try await TemporaryFolder.with { folder in
            let size = 200 << 20
            let content = sampleBytes(size)
            try await Shell.run("mkdir", folder["www"])
            try Files.write(content, to: folder["www/file"])
            // nginx sends the bytes of a second at once, to each connection anew.
            let nginx = try await Nginx(serving: folder["www"], rate: "1500k")
            let program = Resumectl(folder: folder)
            for _ in 0..<20 {
                let process = try program.start(
                    "get", nginx.url("slow/file"), "--output", folder["out"], "--connections", "4")
                try await Task.sleep(for: .milliseconds(Int.random(in: 100...400)))
                process.send(SIGKILL)
                #expect(await process.wait() == .killed(SIGKILL))
                #expect(!Files.exists(folder["out"]), "nothing appears before it is whole")
            }
            let held = try await program.run("list", "--json").output
            // By another number of connections, from where nothing is slow.
            let last = try await program.run(
                "get", nginx.url("slow/file"), "--output", folder["out"], "--connections", "16")
            #expect(last.status == 0, "\(last.errors)")
            let log = try nginx.log()
            await nginx.stop()
            let same = try Files.bytes(folder["out"]) == content
            #expect(same)
            #expect(try await program.run("list").output.isEmpty)
            let sent = log.reduce(0) { $0 + $1.bytes }
            print("killed twenty times: \(log.count) requests, sent \(Double(sent) / Double(size)) times the size")
            #expect(Double(sent) / Double(size) <= 1.10)
            #expect(log.filter { $0.status == 206 }.count >= 40, "several at a time, and they went on")
            #expect(held.contains("\"chunks\""), "\(held)")
        }
    }

    @Test("A number of connections that makes no sense is a usage error", arguments: ["0", "17", "-1", "many"])
    func usage(number: String) async throws {
        try await TemporaryFolder.with { folder in
            let outcome = try await Resumectl(folder: folder).run(
                "get", "http://127.0.0.1:1/file", "--connections=\(number)")
            #expect(outcome.status == 64)
        }
    }
}
