import ResumeDownload
import ResumeHTTP

/// What the README says of queues, compiled as an embedder compiles it.
public func browse(
    _ downloader: Downloader, previews: [DownloadRequest], picture: DownloadRequest
) async throws {
    // README
    let queue = try await DownloadQueue.open(downloader, configuration: .init(maximumRunning: 4, rateLimit: 10 << 20))
    // What an earlier process left goes on.
    try await queue.resumeRestored()
    // Nobody waits for these; the last one runs first.
    try await queue.add(previews, priority: .low)
    // This one runs alone until it is there.
    let file = try await queue.download(picture, isForced: true)
    print(file.path, await queue.report())
    // The rest goes on another time.
    await queue.close()
    // README
}
