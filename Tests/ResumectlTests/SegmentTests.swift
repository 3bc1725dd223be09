import TestSupport
import Testing

/// One file over several connections as users run it: processes, signals, a real origin.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct SegmentTests {
    @Test(
        "nginx, four connections, SIGKILL at twenty random offsets: right, and stored bytes are not fetched again",
        .enabled(if: Nginx.isInstalled, "needs nginx"))
    func killedTwentyTimes() async throws {
        // The last run uses a different number of connections.
        let job = try await KilledGet.run(rate: "600k", connections: 4, lastConnections: 16)
        // Each run resumes. None restarts, except one that was left with no more than the overlap.
        let goingOn = job.log.count { $0.status == 206 }
        let starts = job.kept.count { $0 <= 4096 }
        #expect(goingOn >= job.kept.count - starts && goingOn == job.log.count - starts, "\(job.kept) \(job.log)")
        #expect(job.chunks > 1, "several connections at a time")
    }

    @Test("An invalid number of connections is a usage error", arguments: ["0", "17", "-1", "many"])
    func usage(number: String) async throws {
        try await TemporaryFolder.with { folder in
            let outcome = try await Resumectl(folder: folder).run(
                "get", "http://127.0.0.1:1/file", "--connections=\(number)")
            #expect(outcome.status == 64)
        }
    }
}
