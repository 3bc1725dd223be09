import AsyncHTTPClient
import Foundation
import ResumeAsyncHTTP
import ResumeDownload
import Synchronization
import Testing

/// A server, a store and a client for one test.
struct Site: Sendable {
    static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 13) }
    /// The text "decoded" in the format gzip.
    static let compressed = Data(base64Encoded: "H4sIAAAAAAACA0tJTc5PSU0BAPaa8BoHAAAA") ?? Data()

    let server: Server
    let store: DownloadStore
    let client: HTTPClient
    let folder: String

    /// Runs a test with a client that does neither follow redirects nor decode, unless its configuration says so.
    static func with(
        _ configuration: HTTPClient.Configuration = .init(redirectConfiguration: .disallow, decompression: .disabled),
        answering answer: @escaping @Sendable (Request) -> Server.Answer, _ body: (Site) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/adapter-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let server = try Server(answer)
        let store = try await DownloadStore.open(at: "\(folder)/store")
        let client = HTTPClient(configuration: configuration)
        let result = await Result { try await body(Site(server: server, store: store, client: client, folder: folder)) }
        try await client.shutdown()
        await store.close()
        server.close()
        try FileManager.default.removeItem(atPath: folder)
        try result.get()
    }

    var downloader: Downloader { Downloader(store: store, transport: AsyncHTTPTransport(client: client)) }

    func url(_ path: String = "/file") throws -> DownloadURL { try DownloadURL(server.url(path)) }

    func request(_ path: String = "/file") throws -> DownloadRequest {
        var request = DownloadRequest(try url(path), to: "\(folder)/out")
        request.retryPolicy = RetryPolicy(retries: 2, firstDelay: .milliseconds(1))
        return request
    }

    func bytes(_ name: String = "out") -> [UInt8]? {
        FileManager.default.contents(atPath: "\(folder)/\(name)").map { [UInt8]($0) }
    }

    /// Waits until a condition is true, at most ten seconds.
    static func becomes(_ condition: () -> Bool) async throws -> Bool {
        for _ in 0..<1000 {
            if condition() { return true }
            try await Task.sleep(for: .milliseconds(10))
        }
        return false
    }

    /// Cancels a download of a body that does not end, as soon as it has bytes; they must be kept.
    ///
    /// - Parameter download: Downloads the file of a site, and calls a closure with the number of received bytes.
    /// - Throws: An error if the site cannot be set up.
    static func cancelling(
        _ download: @escaping @Sendable (Site, @escaping @Sendable (Int64) -> Void) async throws -> Void
    ) async throws {
        let fields = ["ETag": "\"1\"", "Content-Length": "\(content.count)"]
        try await with(answering: { _ in .init("200 OK", fields, content.prefix(100_000), wait: 30) }) { site in
            let hasBytes = Mutex(false)
            let task = Task {
                try await download(site) { received in
                    if received > 0 { hasBytes.withLock { $0 = true } }
                }
            }
            #expect(try await becomes { hasBytes.withLock(\.self) })
            task.cancel()
            await #expect(throws: (any Error).self) { try await task.value }
            #expect(try await becomes { site.server.closed == 1 })
            let entry = try #require(await site.store.entry(for: site.url()))
            #expect(entry.receivedBytes > 0)
        }
    }

    /// Answers with the range that is asked for under the same entity tag, or with the beginning of the content.
    static func cutOnce(_ request: Request) -> Server.Answer {
        let fields = ["ETag": "\"1\"", "Accept-Ranges": "bytes"]
        guard let range = request["range"], request["if-range"] == "\"1\"",
            let first = range.dropFirst("bytes=".count).split(separator: "-").first.flatMap({ Int($0) })
        else {
            return .init(
                "200 OK", fields.merging(["Content-Length": "\(content.count)"]) { $1 }, content.prefix(100_000),
                // The client drops what it has not passed on when the connection ends.
                wait: 0.5)
        }
        let span = "bytes \(first)-\(content.count - 1)/\(content.count)"
        return .init(
            "206 Partial Content",
            fields.merging(["Content-Range": span, "Content-Length": "\(content.count - first)"]) { $1 },
            content[first...])
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
