import Foundation
import ResumeDownload
import ResumeURLSession
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Fetches of the store with a URLSession of the application.
@Suite(.timeLimit(.minutes(2)), .serialized)
struct SessionTests {
    /// Decides on redirects.
    final class Delegate: NSObject, URLSessionDataDelegate {
        private let follows: Bool
        let redirects = Mutex<[String]>([])

        init(follows: Bool) { self.follows = follows }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            redirects.withLock { $0.append(request.url?.path ?? "") }
            completionHandler(follows ? request : nil)
        }
    }

    private static func fetch(
        _ path: String = "/file", from site: Site, with session: URLSession,
        onProgress: (@Sendable (Int64, Int64?) -> Void)? = nil
    ) async throws -> FetchResult {
        var request = URLRequest(url: try #require(URL(string: site.server.url(path))))
        request.setValue("Bearer token", forHTTPHeaderField: "Authorization")
        return try await site.store.fetch(
            site.url(path), to: "\(site.folder)/out", retries: RetryPolicy(retries: 2, firstDelay: .milliseconds(1)),
            onProgress: onProgress,
            sending: { [request] fields in try await session.fetchResponse(for: request, adding: fields) })
    }

    @Test("A cut body is continued, with the session's redirects, fields and tokens")
    func resumed() async throws {
        try await Site.with(answering: {
            $0.path == "/file" ? .init("302 Found", ["Location": "/there"]) : Site.cutOnce($0)
        }) { site in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpAdditionalHeaders = ["X-Client": "application"]
            let delegate = Delegate(follows: true)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            let result = try await Self.fetch(from: site, with: session)
            #expect(result.totalBytes == Int64(Site.content.count))
            #expect(site.bytes() == Site.content)
            let requests = site.server.requests
            #expect(requests.map(\.path) == ["/file", "/there", "/file", "/there"])
            #expect(delegate.redirects.withLock(\.self) == ["/there", "/there"])
            #expect(requests.allSatisfy { $0["x-client"] == "application" && $0["accept-encoding"] == "identity" })
            #expect(requests.first?["authorization"] == "Bearer token")
            #expect(requests.last?["if-range"] == "\"1\"")
            #expect(requests.last?["range"]?.hasPrefix("bytes=") == true)
            session.invalidateAndCancel()
        }
    }

    @Test("A redirect that the session's delegate does not follow ends the fetch; without a delegate it is followed")
    func redirects() async throws {
        try await Site.with(answering: {
            $0.path == "/file" ? .init("302 Found", ["Location": "/there"]) : .init("200 OK", [:], Site.content)
        }) { site in
            let delegate = Delegate(follows: false)
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            await #expect {
                try await Self.fetch(from: site, with: session)
            } throws: {
                ($0 as? DownloadError)?.status == 302
            }
            #expect(site.server.requests.allSatisfy { $0.path == "/file" })
            session.invalidateAndCancel()
            _ = try await Self.fetch(from: site, with: URLSession(configuration: .ephemeral))
            #expect(site.bytes() == Site.content)
        }
    }

    @Test("A body that URLSession decodes is refused")
    func decoded() async throws {
        let body = Site.compressed
        try await Site.with(answering: { _ in
            .init("200 OK", ["Content-Encoding": "gzip", "Content-Length": "\(body.count)"], body)
        }) { site in
            await #expect {
                try await Self.fetch("/file.gz", from: site, with: .shared)
            } throws: {
                ($0 as? DownloadError)?.reason.text.contains("URLSession decodes bodies") == true
            }
            #expect(site.server.requests.count == 1)
        }
    }

    @Test("Cancelling ends the request and keeps the received bytes")
    func cancelled() async throws {
        try await Site.cancelling { site, onBytes in
            _ = try await Self.fetch(from: site, with: .shared) { received, _ in onBytes(received) }
        }
    }

    @Test("Nothing more is received while the bytes are being stored")
    func backPressure() async throws {
        let size = 32 << 20
        let answer = Server.Answer("200 OK", ["Content-Length": "\(size)"], repeatElement(7, count: size))
        try await Site.with(answering: { _ in answer }) { site in
            let parts = Atomic(0)
            let most = Mutex(0)
            let result = try await Self.fetch(from: site, with: .shared) { received, _ in
                most.withLock { $0 = max($0, site.server.sent - Int(received)) }
                // Long enough to send everything on loopback.
                if parts.add(1, ordering: .relaxed).newValue == 1 { Thread.sleep(forTimeInterval: 1) }
            }
            #expect(result.totalBytes == Int64(size))
            let waiting = most.withLock { $0 }
            #expect(waiting < 14 << 20, "\(waiting) bytes")
        }
    }
}
