import HTTPTypes
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore

// What stands between the marks is shown in the documentation, word for word; a test compares the two.

func downloadOnce() async throws {
    // SNIPPET
    let store = try await DownloadStore.open(at: "/var/cache/example")
    let transport = AsyncHTTPTransport()
    let downloader = Downloader(store: store, transport: transport)

    let request = DownloadRequest(try DownloadURL("https://example.org/image.iso"), to: "image.iso")
    let result = try await downloader.download(request)
    print("\(result.path): \(result.totalBytes) bytes, \(result.reusedBytes) of them held before")

    try await transport.shutdown()
    await store.close()
    // END
}

// SNIPPET
nonisolated(nonsending) func withDownloader<Value>(
    storingIn folder: String, _ body: (Downloader) async throws -> Value
) async throws -> Value {
    let store = try await DownloadStore.open(at: folder)
    let transport = AsyncHTTPTransport()
    do {
        let value = try await body(Downloader(store: store, transport: transport))
        try await transport.shutdown()
        await store.close()
        return value
    } catch {
        try? await transport.shutdown()
        await store.close()
        throw error
    }
}
// END

func watch(_ request: DownloadRequest, by downloader: Downloader) async throws {
    // SNIPPET
    for try await event in downloader.events(request) {
        switch event {
        case .started(let total): print("\(total.map { "\($0)" } ?? "an unknown number of") bytes to fetch")
        case .resumed(let offset, _): print("continued at byte \(offset)")
        case .restarted(let reason, _): print("started over: \(reason)")
        case .damaged(let reason), .resumeDataOutdated(let reason): print(reason)
        case .retrying(let reason, let seconds): print("\(reason) Again in \(seconds) s.")
        case .progress(let received, let total): print("\(received) of \(total ?? 0)")
        case .waiting: print("somebody else downloads this")
        case .finished(let result): print("done: \(result.path)")
        }
    }
    // END
}

func handleFailures(of request: DownloadRequest, by downloader: Downloader) async throws {
    // SNIPPET
    do {
        _ = try await downloader.download(request)
    } catch let error as DownloadError where error.isResumable {
        print("not now: \(error)")  // what came is kept; the same call goes on from there
    } catch let error as DownloadError {
        print("no: \(error.reason.code.rawValue), status \(error.status ?? 0)")
    } catch let error as StoreError {
        print("\(error.message) \(error.advice)")
    }
    // END
}

func requestWithTerms(_ url: DownloadURL, token: String) throws -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(url, to: "model.bin")
    request.fields[.authorization] = "Bearer \(token)"
    request.digest = try HTTPDigest(.sha256, parsing: String(repeating: "0", count: 64))
    request.limits.retries = 10
    request.stallTimeout = 15
    request.maximumLength = 20 << 30
    // END
    return request
}
