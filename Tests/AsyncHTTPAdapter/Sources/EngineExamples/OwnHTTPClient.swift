import AsyncHTTPClient
import ResumeAsyncHTTP
import ResumeDownload

// The example of the landing page of ResumeAsyncHTTP.
func downloadWithOwnClient(_ request: DownloadRequest, in store: DownloadStore) async throws -> DownloadResult {
    // SNIPPET
    let client = HTTPClient(configuration: .init(redirectConfiguration: .disallow, decompression: .disabled))
    let downloader = Downloader(store: store, transport: AsyncHTTPTransport(client: client))
    let result = try await downloader.download(request)
    try await client.shutdown()  // The transport does not shut it down.
    // END
    return result
}
