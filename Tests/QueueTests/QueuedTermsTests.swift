import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import TestSupport
import Testing

/// What a later process knows about a request.
@Suite(.timeLimit(.minutes(5)))
struct QueuedTermsTests {
    /// Properties that a queue does not keep: the program supplies the request again, or the queue sets them.
    static let left: Set<String> = [
        "headerFields", "secretHeaderFields", "headURL", "refresh", "deliveredFile", "permits", "rateLimiters",
        "queuedRows", "clock", "needs", "digestNamed",
        "authorization", "given",
        // The store of the later process has these.
        "resumeData", "evictedBytes",
        // Belongs to one run.
        "interruption", "onPause", "origins", "waitClock", "sampleSeed", "adopts", "onCheck", "isPassedOn",
        // Each command decides again which files it may replace; a queue of a program leaves it at `ifExists`.
        "replacing",
    ]

    /// The properties by name.
    static func properties(_ request: DownloadRequest) -> [String: String] {
        let children = Mirror(reflecting: request).children.map { ($0.label ?? "", String(reflecting: $0.value)) }
        return Dictionary(uniqueKeysWithValues: children).filter { !left.contains($0.key) }
    }

    @Test("All properties of a request reach the later process")
    func everything() async throws {
        try await QueueBench.with { bench in
            var request = try bench.request("a")
            let plain = request
            request.url = try DownloadURL("\(bench.server.baseURL)/other")
            request.destination = bench.folder["elsewhere"]
            request.key = "my own"
            request.digest = HTTPDigest(.sha256, bytes: Array(repeating: 7, count: 32))
            request.selection = try RangeSelection(parsing: "bytes=100-199")
            request.condition = .ifMatch
            request.allowsUnvalidated = true
            request.acceptEncoding = "gzip"
            request.connections = 3
            request.restarts = true
            request.waits = false
            request.overlap = 17
            request.retryPolicy = .init(
                retries: 2, time: .seconds(77), firstDelay: .milliseconds(300), longestDelay: .seconds(4), restarts: 5)
            request.stallTimeout = .seconds(6)
            request.stallBytes = 7
            request.rateLimit = 8
            request.maximumLength = 9
            request.usesServerFilename = true
            request.numbersServerFilename = true
            request.mostRedirects = 3
            request.ifExists = .skip
            let wanted = Self.properties(request)
            // A new property must be added here, or to the list of those left out.
            for (name, value) in Self.properties(plain) { #expect(wanted[name] != value, "\(name)") }

            await bench.queue.pauseAll()
            try await bench.queue.add([request])
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            let restored = try #require(await queue.restored.first?.request)
            #expect(Self.properties(restored) == wanted)
            await queue.close()
        }
    }

    @Test("A file without recorded terms may have another digest")
    func unknown() {
        #expect(!JobTerms.isAnswered(nil, by: nil))
        #expect(JobTerms.isAnswered("{}", by: "{}"))
    }
}
