@testable import DocumentationExamples
import Foundation
import OriginServer
import Resume
import TestSupport
import Testing

/// A download that reports to a `Progress` of Foundation.
@Suite(.timeLimit(.minutes(20)))
struct ProgressExampleTests {
    private static func with(_ body: (DownloadRequest, Downloader) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let resource = Resource(Content(length: 2_000_000, seed: 5), etag: "\"v1\"")
            try await OriginServer.withServer(
                handler: { .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil) },
                { server in
                    try await withDownloader(storingIn: folder["store"]) { downloader in
                        let url = try DownloadURL("\(server.baseURL)/file")
                        try await body(DownloadRequest(url, to: folder["file"]), downloader)
                    }
                })
        }
    }

    @Test("A progress counts all bytes, across a cut")
    func counts() async throws {
        try await Self.with { request, downloader in
            let progress = try await show(request, by: downloader)
            #expect(progress.completedUnitCount == 2_000_000 && progress.totalUnitCount == 2_000_000)
            #expect(progress.isFinished)
        }
    }

    @Test("A progress that is cancelled, or whose task is, cancels the download", arguments: [true, false])
    func cancelled(byProgress: Bool) async throws {
        try await Self.with { request, downloader in
            let progress = Progress(totalUnitCount: -1)
            if byProgress { progress.cancel() }
            let running = Task { try await downloader.download(request, reportingTo: progress) }
            if !byProgress { running.cancel() }
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }
}
