import AsyncHTTPClient
import Foundation
import ResumeAsyncHTTP
import ResumeStore
import Synchronization
import Testing

@testable import FetchExample

/// Fetches of the store, which need no engine.
@Suite(.timeLimit(.minutes(2)))
struct FetchTests {
    @Test("A cut body is continued, by a client that follows redirects")
    func resumed() async throws {
        try await Site.with(
            .init(decompression: .disabled),
            answering: { $0.path == "/file" ? .init("302 Found", ["Location": "/there"]) : Site.cutOnce($0) }
        ) { site in
            let result = try await fetch(try site.url(), to: "\(site.folder)/out", in: site.store, with: site.client)
            #expect(result.totalBytes == Int64(Site.content.count))
            #expect(site.bytes() == Site.content)
            let requests = site.server.requests
            #expect(requests.map(\.path) == ["/file", "/there", "/file", "/there"])
            #expect(requests.last?["if-range"] == "\"1\"")
            #expect(requests.first?["accept-encoding"] == "identity")
        }
    }

    @Test("A client that decodes bodies ends the fetch at once")
    func decodes() async throws {
        let body = Site.compressed
        try await Site.with(
            .init(decompression: .enabled(limit: .none)),
            answering: { _ in .init("200 OK", ["Content-Encoding": "gzip"], body) }
        ) { site in
            // The store accepts such a label for a file that is stored compressed.
            await #expect {
                try await fetch(try site.url("/file.gz"), to: "\(site.folder)/out", in: site.store, with: site.client)
            } throws: {
                ($0 as? DownloadError)?.reason.text.contains("decodes bodies") == true
            }
            #expect(site.server.requests.count == 1)
            #expect(site.bytes() == nil)
        }
    }

    @Test("Nothing more is received while the bytes are being stored")
    func backPressure() async throws {
        let size = 32 << 20
        let answer = Server.Answer("200 OK", ["Content-Length": "\(size)"], repeatElement(7, count: size))
        try await Site.with(answering: { _ in answer }) { site in
            let parts = Atomic(0)
            let most = Mutex(0)
            let client = site.client
            let url = try site.url()
            let result = try await site.store.fetch(
                url, to: "\(site.folder)/out",
                onProgress: { received, _ in
                    most.withLock { $0 = max($0, site.server.sent - Int(received)) }
                    // Long enough to send everything on loopback.
                    if parts.add(1, ordering: .relaxed).newValue == 1 { try? await Task.sleep(for: .seconds(1)) }
                },
                sending: { fields in
                    var request = HTTPClientRequest(url: url.absoluteString)
                    for field in fields { request.headers.add(name: field.name.rawName, value: field.value) }
                    return try FetchResponse(await client.execute(request, deadline: .distantFuture))
                })
            #expect(result.totalBytes == Int64(size))
            // The buffers of both sockets, and what the client holds.
            let waiting = most.withLock { $0 }
            #expect(waiting < 14 << 20, "\(waiting) bytes")
        }
    }
}
