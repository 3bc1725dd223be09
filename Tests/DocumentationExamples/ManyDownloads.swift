import ResumeDownload
import ResumeHTTP

func browse(_ downloader: Downloader, previews: [DownloadRequest], picture: DownloadRequest) async throws {
    // SNIPPET
    let queue = try await DownloadQueue.open(downloader, configuration: .init(maximumRunning: 4, rateLimit: 10 << 20))
    // Continue what an earlier process left unfinished.
    try await queue.resumeRestored()
    // Run in the background. The newest request runs first.
    try await queue.add(previews, priority: .low)
    // Run alone, before everything else.
    let file = try await queue.download(picture, isExclusive: true)
    print(file.path, await queue.report())
    // Keep the rest for the next process.
    await queue.close()
    // END
}

func openQueue(_ downloader: Downloader, report: @escaping @Sendable (String) -> Void) async throws -> DownloadQueue {
    // SNIPPET
    let queue = try await DownloadQueue.open(
        downloader,
        configuration: .init(
            name: "pictures", maximumRunning: 4, rateLimit: 10 << 20,
            onFinish: { key, result in
                if case .failure(let error) = result { report("\(key): \(error)") }
            }))
    // END
    return queue
}

func add(_ previews: [DownloadRequest], and url: DownloadURL, to queue: DownloadQueue) async throws {
    // SNIPPET
    // Returns when the requests are recorded in the store.
    try await queue.add(previews, priority: .low)
    // Returns when the file is complete.
    let result = try await queue.download(DownloadRequest(url, to: "picture.jpg"))
    print("\(result.path): \(result.totalBytes) bytes")
    // END
}

func control(_ queue: DownloadQueue, _ request: DownloadRequest) async {
    // SNIPPET
    await queue.pause(request)  // keeps the partial data; callers keep waiting
    await queue.setRateLimit(1 << 20)  // all downloads together
    await queue.resume(request)
    await queue.cancel(request)  // keeps the partial data; callers get an error
    await queue.cancel(request, .discardingPartial)  // returns when the partial data is removed
    // END
}

func show(_ queue: DownloadQueue) async {
    // SNIPPET
    let report = await queue.report()
    for item in report.items where item.state == .downloading {
        print("\(item.url): \(item.receivedBytes) of \(item.totalBytes ?? 0)")
    }
    print(report)  // one line per download
    // END
}

func continueQueue(
    _ queue: DownloadQueue, sign: @escaping @Sendable (String) async throws -> DownloadURL
) async throws {
    // SNIPPET
    let count = try await queue.resumeRestored { download in
        if let request = download.request { return request }
        // The request had a signed URL, fields or hooks. Create it again with the same key and destination.
        var request = DownloadRequest(try await sign(download.url), to: download.destination)
        request.key = download.key
        return request
    }
    print("\(count) resumed, \(await queue.restored.count) still without a request")
    // END
}
