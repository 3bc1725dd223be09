import AsyncHTTPClient
import Dispatch
import Foundation
import Logging
import Resume
import ResumeTesting

// The programs of docs/programs.md. DocumentationTests compare the two.

// SNIPPET
/// Downloads files into a folder, two at a time; running it again continues what was interrupted.
func fetchModels(_ urls: [DownloadURL], into folder: String) async throws {
    try await withDownloader(storingIn: "\(folder)/.partial") { downloader in
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, url) in urls.enumerated() {
                if index >= 2 { try await group.next() }
                // nil unless the name stays in the folder: for "..%2Fx", that of Foundation's URL is "../x".
                guard let name = url.lastPathComponent else { continue }
                group.addTask {
                    var request = DownloadRequest(url, to: "\(folder)/\(name)")
                    request.ifExists = .skip
                    for try await event in downloader.events(request) {
                        guard let fraction = event.fraction else { continue }
                        print("\(name): \(Int(fraction * 100)) %")
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
// END

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
    try await transport.shutdown()
    await store.close()
    try outcome.get()
}
// END

// SNIPPET
/// Plays a file while it is downloaded, from each offset that the user seeks to.
func play(
    _ url: URL, in folder: String, from offsets: AsyncStream<Int64>, feed: @escaping @Sendable ([UInt8]) async -> Void
) async throws {
    try await withDownloader(storingIn: folder) { downloader in
        let stream = downloader.makeStream(try DownloadRequest(url, to: "\(folder)/film.mp4"))
        print("\(try await stream.totalBytes ?? 0) bytes")
        var playing: Task<Void, any Error>?
        for await offset in offsets {
            playing?.cancel()
            playing = Task {
                for try await piece in stream.bytes(from: offset) { await feed(piece) }
            }
        }
        try await playing?.value
    }
}
// END

struct Failure: Error {}

// SNIPPET
/// Checks, without a network, that a download continues after its connection was cut.
func continuesAfterCut(in folder: String) async throws {
    let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    let transport = FakeTransport(FakeResource(content, cuts: [40_000]))
    let store = try await DownloadStore.open(at: "\(folder)/store")
    let downloader = Downloader(store: store, transport: transport)

    let request = DownloadRequest(try DownloadURL("https://example.org/file"), to: "\(folder)/file")
    let result = try await downloader.download(request)

    guard FileManager.default.contents(atPath: result.path) == Data(content),
        transport.requests.map({ $0.headerFields[.range] }) == [nil, "bytes=35904-"]
    else { throw Failure() }
    await store.close()
}
// END
