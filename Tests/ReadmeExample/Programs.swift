import Foundation
import Resume
import ResumeTesting

// The programs of docs/programs.md, except for the one in Tests/AsyncHTTPAdapter. DocumentationTests compare them.

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
