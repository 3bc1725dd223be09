import AsyncHTTPClient
import Dispatch
import Foundation
import Logging
import ResumeAsyncHTTP
import ResumeDownload

// A program of docs/programs.md. DocumentationTests compare the two.

// SNIPPET
/// What users of the service ask for.
enum Wish: Sendable {
    case mirror(DownloadURL)
    case pause(DownloadURL)
    case resume(DownloadURL)
    case cancel(DownloadURL)
}

/// Mirrors files until the process receives SIGTERM; the next process continues what is unfinished.
func runMirror(_ wishes: AsyncStream<Wish>, in folder: String, with client: HTTPClient) async throws {
    let logger = Logger(label: "org.example.mirror")
    // Evictions are counted too, by the metrics system that the program has set up.
    let configuration = DownloadStore.Configuration(maximumSize: 10 << 30).observed(by: logger)
    let store = try await DownloadStore.open(at: "\(folder)/.partial", configuration: configuration)
    let transport = AsyncHTTPTransport(client: client)
    let queue = try await DownloadQueue.open(
        Downloader(store: store, transport: transport, logger: logger), configuration: .init(maximumRunning: 4))
    try await queue.resumeRestored()

    let serving = Task {
        for await wish in wishes {
            switch wish {
            case .mirror(let url):
                guard let name = url.lastPathComponent else { continue }
                try await queue.add([DownloadRequest(url, to: "\(folder)/\(name)")])
            case .pause(let url): await queue.pause(url)
            case .resume(let url): await queue.resume(url)
            case .cancel(let url): await queue.cancel(url, .discardingPartial)
            }
        }
    }
    signal(SIGTERM, SIG_IGN)
    let terminated = DispatchSource.makeSignalSource(signal: SIGTERM)
    terminated.setEventHandler { serving.cancel() }
    terminated.resume()
    let outcome = await serving.result

    await queue.close()
    transport.shutdown()
    await store.close()
    try outcome.get()
}
// END
