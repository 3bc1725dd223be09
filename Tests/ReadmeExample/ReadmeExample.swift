// What stands between the marks is the example of the README, word for word; a test compares the two.
// README
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
        case .resumed(let offset, let total): print("went on at \(offset) of \(total ?? 0)")
        case .restarted(let reason, _): print("started over: \(reason)")
        case .progress(let received, let total): print("\(received) of \(total ?? 0)")
        case .finished(let result): print("\(result.path), \(result.reusedBytes) bytes of it held before")
        default: break
        }
    }
    try await transport.shutdown()
    await store.close()
}
// README
