import AsyncHTTPClient
import Foundation
import HTTPTypes
import ResumeAsyncHTTP
import ResumeDownload
import Synchronization
import Testing

@testable import EngineExamples

/// Downloads of the engine with a client of the application.
@Suite(.timeLimit(.minutes(2)))
struct TransportTests {
    @Test("A download ends with the client's bytes, and the client stays open after the transport")
    func whole() async throws {
        let answer = Server.Answer("200 OK", ["Content-Length": "\(Site.content.count)"], Site.content)
        try await Site.with(answering: { _ in answer }) { site in
            let transport = AsyncHTTPTransport(client: site.client)
            let downloader = Downloader(store: site.store, transport: transport)
            let result = try await downloader.download(try site.request())
            #expect(result.totalBytes == Int64(Site.content.count))
            #expect(site.bytes() == Site.content)
            #expect(site.server.requests.first?["accept-encoding"] == "identity")
            transport.shutdown()
            await #expect(throws: (any Error).self) { try await downloader.download(try site.request("/other")) }
            #expect(site.server.requests.count == 1)
            let response = try await site.client.execute(
                HTTPClientRequest(url: site.server.url("/")), deadline: .distantFuture)
            #expect(response.status == .ok)
        }
    }

    @Test("A cut body is continued under If-Range")
    func resumed() async throws {
        try await Site.with(answering: Site.cutOnce) { site in
            let result = try await site.downloader.download(try site.request())
            #expect(result.totalBytes == Int64(Site.content.count))
            #expect(site.bytes() == Site.content)
            let second = try #require(site.server.requests.last)
            #expect(site.server.requests.count == 2)
            #expect(second["if-range"] == "\"1\"")
            #expect(second["range"] == "bytes=\(100_000 - 4096)-")
        }
    }

    @Test("A client that follows redirects is recognized")
    func redirects() async throws {
        try await Site.with(
            .init(),
            answering: {
                $0.path == "/file" ? .init("302 Found", ["Location": "/there"]) : .init("200 OK", [:], Site.content)
            }
        ) { site in
            await #expect {
                try await site.downloader.download(try site.request())
            } throws: {
                "\($0)".contains("follows redirects; create it with redirectConfiguration = .disallow")
            }
            #expect(site.bytes() == nil)
        }
    }

    @Test("The engine follows the redirects that the client does not follow")
    func engineRedirects() async throws {
        try await Site.with(answering: {
            $0.path == "/file" ? .init("302 Found", ["Location": "/there"]) : .init("200 OK", [:], Site.content)
        }) { site in
            _ = try await site.downloader.download(try site.request())
            #expect(site.bytes() == Site.content)
            #expect(site.server.requests.map(\.path) == ["/file", "/there"])
        }
    }

    @Test("A client that decodes bodies is recognized")
    func decodes() async throws {
        let body = Site.compressed
        try await Site.with(
            .init(redirectConfiguration: .disallow, decompression: .enabled(limit: .none)),
            answering: { _ in
                .init("200 OK", ["Content-Encoding": "gzip", "Content-Length": "\(body.count)"], body)
            }
        ) { site in
            var request = try site.request()
            request.acceptEncoding = "gzip"
            await #expect {
                try await site.downloader.download(request)
            } throws: {
                "\($0)".contains("decodes bodies; create it with decompression = .disabled")
            }
            #expect(site.bytes() == nil)
        }
    }

    @Test("Cancelling ends the request and keeps the received bytes")
    func cancelled() async throws {
        try await Site.cancelling { site, onBytes in
            _ = try await site.downloader.download(site.request()) { event in
                if case .progress(let received, _) = event { onBytes(received) }
            }
        }
    }

    @Test("A request that waits for its head can be cancelled, and fails after its timeout")
    func waiting() async throws {
        try await Site.with(answering: { _ in .init("100 Continue", wait: 30) }) { site in
            let transport = AsyncHTTPTransport(client: site.client)
            let request = try Self.get(site.server.url("/"))
            let task = Task { try await transport.send(request) }
            #expect(try await Site.becomes { !site.server.requests.isEmpty })
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(try await Site.becomes { site.server.closed == 1 })
            await #expect {
                try await transport.send(request, timeout: .milliseconds(200))
            } throws: {
                ($0 as? TransportError)?.code == .stalled
            }
        }
    }

    static func get(_ url: String) throws -> HTTPRequest {
        let url = try DownloadURL(url)
        return HTTPRequest(method: .get, scheme: url.scheme, authority: url.authority, path: url.requestTarget)
    }

    @Test("Errors have a code and name the host")
    func errors() async throws {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // Otherwise the only error is a timeout.
        configuration.connectionPool.retryConnectionEstablishment = false
        try await Site.with(configuration, answering: { $0.path == "/cut" ? .init("") : .init("200 OK") }) { site in
            let transport = AsyncHTTPTransport(client: site.client)
            let free = try Server { _ in .init("200 OK") }
            free.close()
            let authority = "127.0.0.1:\(site.server.port)"
            let cases: [(String, TransportError.Code, String)] = [
                ("http://127.0.0.1:\(free.port)/", .notConnected, "127.0.0.1:\(free.port): Connection refused"),
                ("http://name.invalid/", .nameNotResolved, "could not resolve the host name.invalid"),
                ("https://\(authority)/", .tls, authority),
                (site.server.url("/cut"), .invalidResponse, authority),
            ]
            for (url, code, text) in cases {
                let request = try Self.get(url)
                await #expect {
                    try await transport.send(request)
                } throws: { error in
                    let error = error as? TransportError
                    #expect(error?.message.contains(text) == true, "\(url): \(String(describing: error))")
                    return error?.code == code
                }
            }
        }
    }

    @Test("The example downloads")
    func example() async throws {
        let answer = Server.Answer("200 OK", ["Content-Length": "\(Site.content.count)"], Site.content)
        try await Site.with(answering: { _ in answer }) { site in
            let result = try await downloadWithOwnClient(try site.request(), in: site.store)
            #expect(result.totalBytes == Int64(Site.content.count))
        }
    }
}
