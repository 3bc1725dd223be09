// The code between the marks is shown in README.md. DocumentationTests compare the two.
// SNIPPET
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore

func fetchModel(from address: String, to path: String, cache: String) async throws {
    let store = try await DownloadStore.open(at: cache)
    let transport = AsyncHTTPTransport()
    let downloader = Downloader(store: store, transport: transport)
    for try await event in downloader.events(DownloadRequest(try DownloadURL(address), to: path)) {
        switch event {
        case .resumed(let offset, _): print("resumed at byte \(offset)")
        case .restarted(let reason, _): print("restarted: \(reason)")
        case .progress(let received, _): print("received \(received) bytes")
        case .retrying(let reason, _): print("retrying: \(reason)")
        case .finished(let result): print("\(result.path): done, \(result.reusedBytes) bytes reused")
        default: break
        }
    }
    try await transport.shutdown()
    await store.close()
}
// END
