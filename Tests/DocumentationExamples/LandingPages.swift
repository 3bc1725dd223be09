import HTTPTypes
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore

func transport(environment: [String: String]) throws -> CurlTransport {
    // SNIPPET
    let transport = CurlTransport(
        .init(
            connectTimeout: .seconds(10), proxies: ProxySettings(environment: environment), usesHTTP2: true,
            permitsAddress: CurlTransport.isPublicAddress))
    // END
    return transport
}

func downloaderComment(_ store: DownloadStore, _ url: DownloadURL) async throws -> DownloadResult {
    // SNIPPET
    let downloader = Downloader(store: store, transport: CurlTransport())
    let result = try await downloader.download(DownloadRequest(url, to: "image.iso"))
    // END
    return result
}

func storeComment(_ url: DownloadURL, _ request: inout HTTPRequest) async throws {
    // SNIPPET
    let store = try await DownloadStore.open(at: "/var/cache/example")
    let transfer = try await store.open(url)
    let fields = await transfer.nextRequest()
    request.headerFields = fields  // set on your client's request: Range and If-Range when resuming
    // END
}

func streamComment(
    _ downloader: Downloader, _ url: DownloadURL, feed: ([UInt8]) -> Void
) async throws {
    // SNIPPET
    for try await piece in downloader.makeStream(DownloadRequest(url, to: "film.mp4")) { feed(piece) }
    // END
}

func taskComment(_ downloader: Downloader, _ url: DownloadURL) async throws {
    // SNIPPET
    let task = downloader.makeTask(DownloadRequest(url, to: "image.iso"))
    task.resume()
    let resumeData = await task.cancelByProducingResumeData()  // keep it, in this program or the next one
    if let resumeData {
        let again = downloader.makeTask(DownloadRequest(resuming: resumeData, to: "image.iso"))
        again.resume()
        print(try await again.value.reusedBytes)
    }
    // END
}

func queueComment(_ downloader: Downloader, _ url: DownloadURL) async throws -> DownloadResult {
    // SNIPPET
    let queue = try await DownloadQueue.open(downloader)
    let result = try await queue.download(DownloadRequest(url, to: "image.jpg"))
    // END
    return result
}

typealias Answer = FetchResponse<AsyncThrowingStream<[UInt8], any Error>>

func fetchComment(
    _ store: DownloadStore, _ url: DownloadURL, _ original: HTTPRequest, send: (HTTPRequest) async throws -> Answer
) async throws -> [UInt8] {
    var request = original
    // SNIPPET
    let image = try await store.fetch(url) { fields in
        request.headerFields = fields  // Range and If-Range when resuming
        return try await send(request)  // your client: returns the response head and a stream of body parts
    }
    // END
    return image.bytes
}

func memoryComment(_ url: DownloadURL, get: (HTTPFields) async throws -> Answer) async throws -> [UInt8] {
    // SNIPPET
    let store = MemoryStore()
    let image = try await store.fetch(url) { fields in try await get(fields) }
    // END
    return image.bytes
}
