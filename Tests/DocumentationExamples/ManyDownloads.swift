import ResumeDownload
import ResumeHTTP

func openQueue(_ downloader: Downloader, tell: @escaping @Sendable (String) -> Void) async throws -> DownloadQueue {
    // SNIPPET
    let queue = try await DownloadQueue.open(
        downloader,
        configuration: .init(
            name: "pictures", maximumRunning: 4, rateLimit: 10 << 20,
            onFinish: { key, result in
                if case .failure(let error) = result { tell("\(key): \(error)") }
            }))
    // END
    return queue
}

func ask(_ queue: DownloadQueue, for url: DownloadURL, and previews: [DownloadRequest]) async throws {
    // SNIPPET
    // Recorded when this returns; nobody waits for them.
    try await queue.add(previews, priority: .low)
    // Waited for: it returns when the file is there.
    let result = try await queue.download(DownloadRequest(url, to: "picture.jpg"))
    print("\(result.path): \(result.totalBytes) bytes")
    // END
}

func control(_ queue: DownloadQueue, _ request: DownloadRequest) async {
    // SNIPPET
    await queue.pause(request.storeKey)  // what came is kept, and its callers wait on
    await queue.setRateLimit(1 << 20)  // all downloads together, from now on
    await queue.resume(request.storeKey)
    await queue.cancel(request.storeKey)  // what came is kept, and its callers are told
    await queue.cancel(request.storeKey, .hard)  // what came is dropped when this returns
    // END
}

func show(_ queue: DownloadQueue) async {
    // SNIPPET
    let report = await queue.report()
    for item in report.items(in: .downloading) {
        print("\(item.url): \(item.receivedBytes) of \(item.totalBytes ?? 0), \(item.callers) waiting")
    }
    print(report)  // all of it, a line for each download
    // END
}

func continueQueue(
    _ queue: DownloadQueue, sign: @escaping @Sendable (String) async throws -> DownloadURL
) async throws {
    // SNIPPET
    let count = try await queue.resumeRestored { download in
        if let request = download.request { return request }
        // It had a signed URL, fields or hooks. The same key and destination; ranges as well, where it had some.
        var request = DownloadRequest(try await sign(download.url), to: download.destination)
        request.key = download.key
        return request
    }
    print("\(count) have a request, \(await queue.restored.count) wait for one")
    // END
}
