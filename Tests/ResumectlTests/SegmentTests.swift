import TestSupport
import Testing

/// One file over several connections as its users run it: processes, signals, a real origin.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct SegmentTests {
    @Test(
        "nginx, four connections, SIGKILL at twenty random moments: right, and at most 1.10 times the size is sent",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func killedTwentyTimes() async throws {
        // It ends over another number of connections. What nginx sends at once, to each connection anew, is on its way when
        // the process dies: that is the origin's rate, not this program's.
        let job = try await KilledGet.run(
            rate: "600k", options: ["--connections", "4"], lastOptions: ["--connections", "16"])
        #expect(job.sent <= 1.10)
        #expect(job.log.filter { $0.status == 206 }.count >= 40, "several at a time, and they went on")
        #expect(job.held.contains("\"chunks\""), "\(job.held)")
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
