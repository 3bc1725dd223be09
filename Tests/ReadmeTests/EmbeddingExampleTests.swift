@testable import DocumentationExamples
import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Runs the request loop of the article `RequestLoop`.
@Suite(.timeLimit(.minutes(5)))
struct EmbeddingExampleTests {
    @Temporary private var folder
    private let servers = Servers()

    /// A client that meets the article's requirements.
    private struct TransportClient: Client {
        let transport = CurlTransport()

        func send(_ request: HTTPRequest) async throws -> (head: HTTPResponse, body: Client.Body) {
            let response = try await transport.send(request)
            let (parts, continuation) = Client.Body.makeStream()
            let reading = Task {
                do {
                    while try await Self.read(response.body, into: continuation) {}
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in reading.cancel() }
            return (response.head, parts)
        }

        private static func read(_ body: any ResponseBody, into parts: Client.Body.Continuation) async throws -> Bool {
            try await body.read { part in
                parts.yield(part.withUnsafeBytes { Array($0) })
                return true
            }
        }
    }

    /// Downloads from an origin with the given handler, and compares the file.
    private func run(
        _ content: Content, store path: String, to destination: String,
        handler: @escaping @Sendable (OriginRequest) -> Response
    ) async throws -> [OriginRequest] {
        let store = try await DownloadStore.open(at: path)
        let client = TransportClient()
        let requests = try await OriginServer.withServer(handler: handler) { server in
            let url = try DownloadURL("\(server.baseURL)/image.iso")
            try await fetch(url, to: destination, in: store, by: client)
            return server.requests
        }
        #expect(try await store.entries().isEmpty)
        await client.transport.shutdown()
        await store.close()
        let bytes = try Files.bytes(destination)
        #expect(bytes.count == Int(content.length) && content.matches(bytes))
        return requests
    }

    @Test("A download resumes after a cut body")
    func cut() async throws {
        let content = Content(length: 1_000_000, seed: 5)
        let resource = Resource(content, etag: "\"v1\"")
        let requests = try await run(content, store: folder["cache"], to: folder["image.iso"]) {
            .file(resource, for: $0, cutAfter: $0.number == 1 ? 600_000 : nil)
        }
        #expect(requests.count == 2)
        let second = requests.last?.fields.first { $0.name.lowercased() == "if-range" }
        #expect(second?.value == "\"v1\"")
    }

    @Test(
        "A download restarts if the file was replaced, or if stored bytes differ from the server's",
        arguments: [(1_200_000, "\"v2\"", 2), (1_000_000, "\"v1\"", 3)] as [(Int64, String, Int)])
    func replaced(length: Int64, etag: String, count: Int) async throws {
        let new = Content(length: length, seed: 7)
        let (first, second) = (
            Resource(Content(length: 1_000_000, seed: 6), etag: "\"v1\""), Resource(new, etag: etag)
        )
        let requests = try await run(new, store: folder["cache"], to: folder["image.iso"]) {
            $0.number == 1 ? .file(first, for: $0, cutAfter: 600_000) : .file(second, for: $0)
        }
        #expect(requests.count == count)
    }

    @Test("A cancelled chunked body is not complete, and its received bytes are kept")
    func cancelled() async throws {
        var file = Resource(Content(length: 1_000_000, seed: 11), etag: "\"v1\"")
        file.framing = .chunked(size: 50_000)
        let resource = file
        let store = try await DownloadStore.open(at: folder["cache"])
        let client = TransportClient()
        let server = try await servers.serve { .file(resource, for: $0, cutAfter: 600_000, stall: true) }
        let url = try DownloadURL("\(server.baseURL)/image.iso")
        let running = Task {
            try await fetch(url, to: folder["image.iso"], in: store, by: client)
        }
        // Recorded within a moment; the origin sends nothing more.
        while try await store.entries().first?.receivedBytes != 600_000 {
            try await Task.sleep(for: .milliseconds(20))
        }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(try await store.entries().first?.receivedBytes == 600_000)
        #expect(!Files.exists(folder["image.iso"]))
        await client.transport.shutdown()
        await store.close()
    }

    @Test("A refused download fails and keeps the received bytes")
    func refused() async throws {
        let resource = Resource(Content(length: 1_000_000, seed: 10), etag: "\"v1\"")
        let store = try await DownloadStore.open(at: folder["cache"])
        let client = TransportClient()
        let server = try await servers.serve {
            $0.number == 1 ? .file(resource, for: $0, cutAfter: 600_000) : .status("403 Forbidden")
        }
        let url = try DownloadURL("\(server.baseURL)/image.iso")
        await #expect(throws: DownloadFailed.self) {
            try await fetch(url, to: folder["image.iso"], in: store, by: client)
        }
        #expect(try await store.entries().first?.receivedBytes == 600_000)
        #expect(!Files.exists(folder["image.iso"]))
        await client.transport.shutdown()
        await store.close()
    }
}
