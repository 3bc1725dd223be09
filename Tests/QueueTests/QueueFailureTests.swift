import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Who is told of a failure, and what it leaves alone.
@Suite(.timeLimit(.minutes(10)))
struct QueueFailureTests {
    private static let half: Int64 = 600_000

    @Test("The report counts what is paused and what an earlier process left apart")
    func counts() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add(try ["a", "b", "c"].map { try bench.request($0) })
            await bench.queue.pause(bench.key("a"))
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            let text = await queue.report().description
            #expect(text.contains("paused for download: 1\n"))
            #expect(text.contains("left by an earlier process: 2\n"))
            await queue.close()
        }
    }

    @Test("Two destinations of one key with URLs of their own: the later process has each with its own")
    func ownURLs() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let requests = try ["a", "b"].map { name in
                var request = try bench.request(name)
                request.key = "both"
                return request
            }
            try await bench.queue.add(requests)
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            let urls = await queue.restored.compactMap { $0.request?.url.redacted }
            #expect(Set(urls) == [bench.key("a"), bench.key("b")])
            await queue.close()
        }
    }
}
