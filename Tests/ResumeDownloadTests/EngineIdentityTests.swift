import Foundation
import HTTPTypes
import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeTesting
import Synchronization
import TestSupport
import Testing

/// What the engine sends and keeps for one run: cookies, logins at each hop, and what a caller gives otherwise.
@Suite(.timeLimit(.minutes(10)))
struct EngineIdentityTests {
    private static let content = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 / 11) }

    /// Records the jar of each request; `/from` redirects to another origin.
    ///
    /// The jars are kept, since another one could get the address of one that is gone.
    private final class Recorder: Transport {
        let base: FakeTransport
        private let kept = Mutex<[CookieJar?]>([])
        var jars: [ObjectIdentifier?] { kept.withLock { $0.map { $0.map(ObjectIdentifier.init) } } }

        init(_ resource: FakeResource) { base = FakeTransport(resource) }

        func send(_ request: HTTPRequest) async throws -> TransportResponse {
            kept.withLock { $0.append(CookieJar.current) }
            var response = try await base.send(request)
            guard let path = request.path, path.hasPrefix("/from?") else { return response }
            let place = path.dropFirst("/from?".count)
            response.head = HTTPResponse(status: .found, headerFields: [.location: "https://\(place)other.example/b"])
            return response
        }
    }

    private static func with(
        _ transport: Recorder, _ body: (Downloader, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            try await body(Downloader(store: store, transport: transport), folder)
        }
    }

    @Test("All requests of a download share a jar, also those of several connections, and no other download has it")
    func jar() async throws {
        let transport = Recorder(FakeResource(Self.content, cuts: [50_000]))
        try await Self.with(transport) { downloader, folder in
            var request = DownloadRequest(try DownloadURL("https://example.org/file"), to: folder["out"])
            request.retryPolicy = RetryPolicy(firstDelay: .milliseconds(1))
            request.connections = 4
            _ = try await downloader.download(request)
            let first = transport.jars
            #expect(first.count >= 2 && Set(first).count == 1 && first.first != .some(nil))
            request.url = try DownloadURL("https://example.org/other")
            request.destination = folder["other"]
            _ = try await downloader.download(request)
            let all = transport.jars
            #expect(Set(all).count == 2 && Set(all.dropFirst(first.count)) != Set(first))
            #expect(CookieJar.current == nil)
        }
    }

    @Test(
        "A login is asked for at each hop without one; a user and password in Location are not sent to another origin",
        arguments: [("", "Basic bmFtZWQ=", "other.example"), ("u:p@", nil, nil)] as [(String, String?, String?)]
    )
    func logins(user: String, expected: String?, host: String?) async throws {
        let transport = Recorder(FakeResource([1, 2, 3]))
        try await Self.with(transport) { downloader, folder in
            var request = DownloadRequest(try DownloadURL("https://a:b@example.org/from?\(user)"), to: folder["out"])
            request.authorization = { url, credentials in url.host == host ? "Basic bmFtZWQ=" : nil }
            _ = try await downloader.download(request)
            #expect(transport.base.requests.map { $0.headerFields[.authorization] } == ["Basic YTpi", expected])
        }
    }

    @Test("What a caller gives besides URL and fields is part of the identity, and is not sent")
    func given() async throws {
        for (later, isSame) in [("one", true), ("two", false)] {
            let transport = Recorder(FakeResource(Self.content, cuts: [3_000_000]))
            try await Self.with(transport) { downloader, folder in
                var request = DownloadRequest(try DownloadURL("https://example.org/file"), to: folder["out"])
                request.retryPolicy.retries = 0
                request.given = "one"
                await #expect(throws: DownloadError.self) { try await downloader.download(request) }
                request.given = later
                _ = try await downloader.download(request)
                let ranges = transport.base.requests.dropFirst().map { $0.headerFields[.range] ?? "" }
                #expect((ranges == ["bytes=2995904-"]) == isSame, "\(ranges)")
                #expect(transport.base.requests.allSatisfy { !"\($0.headerFields)".contains("one") })
            }
        }
    }
}
