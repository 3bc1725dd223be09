import HTTPTypes
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore

func decide(_ response: HTTPResponse, about representation: Representation) -> Verdict {
    // SNIPPET
    let held = HeldPartial(representation: representation, length: 1_000_000)
    let plan = Plan(for: held)  // .range: bytes=995904-, with If-Range
    let verdict = Verdict(for: response, to: plan, held: held)
    // END
    return verdict
}

func transport(environment: [String: String]) throws -> AsyncHTTPTransport {
    // SNIPPET
    let transport = AsyncHTTPTransport(
        .init(
            connectTimeout: 10, proxies: try ProxySettings(environment: environment), usesHTTP2: true,
            permitsAddress: { PublicAddress.isPublic($0) }))
    // END
    return transport
}

func downloaderComment(_ store: DownloadStore, _ url: DownloadURL) async throws -> DownloadResult {
    // SNIPPET
    let downloader = Downloader(store: store, transport: AsyncHTTPTransport())
    let result = try await downloader.download(DownloadRequest(url, to: "image.iso"))
    // END
    return result
}

func storeComment(_ url: DownloadURL, _ request: inout HTTPRequest) async throws {
    // SNIPPET
    let store = try await DownloadStore.open(at: "/var/cache/example")
    let transfer = try await store.begin(url)
    let plan = await transfer.plan()
    request.headerFields = plan.fields  // of your HTTP client's request: Range and If-Range, where they help
    // END
}
