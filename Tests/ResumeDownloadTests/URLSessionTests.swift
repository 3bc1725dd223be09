import HTTPTypes
import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeURLSession
import Scenarios
import TestSupport
import Testing

/// URLSession defaults that must be disabled.
@Suite(.timeLimit(.minutes(10)), .enabled(if: TransportKind.tested.contains(.urlSession)))
struct URLSessionTests {
    private static func withOrigin(
        _ handler: @escaping Origin.Handler, _ body: (Origin) async throws -> Void
    ) async throws {
        try await TransportKind.$current.withValue(.urlSession) { try await Origin.with(handler, body) }
    }

    @Test("Coded forms, which it would decode, are not requested")
    func coded() async throws {
        try await Self.withOrigin({ .file(.old, for: $0) }) { origin in
            let error = await origin.failure { $0.acceptEncoding = "gzip" }
            #expect(error?.reason.code.rawValue == "invalid-request")
            #expect(origin.server.requests.isEmpty)
        }
    }

    @Test("A coded answer is refused by its head, and nothing decoded is stored", arguments: ["gzip", "deflate", "br"])
    func codedAnswer(coding: String) async throws {
        let handler: Origin.Handler = { Response.file(.old, for: $0).settingField("Content-Encoding", to: coding) }
        try await Self.withOrigin(handler) { origin async throws in
            #expect(await origin.failure()?.reason.code.rawValue == "content-coded")
            #expect(try await origin.store.totals().receivedBytes == 0)
        }
    }

    @Test("No cookie is kept, no credential is looked up, and fields are the caller's")
    func plain() async throws {
        try await Self.withOrigin({ request in
            request.number == 1
                ? .status("302 Found", fields: [("Set-Cookie", "a=b; Path=/"), ("Location", "/there")])
                : .status("401 Unauthorized", fields: [("WWW-Authenticate", "Basic realm=\"x\"")])
        }) { origin in
            let error = await origin.failure { $0.headerFields[.authorization] = "Bearer caller" }
            #expect(error?.status == 401)
            #expect(origin.server.requests.count == 2)
            #expect(origin.server.requests.allSatisfy { $0.field("Cookie") == nil })
            #expect(origin.server.requests.allSatisfy { $0.fields("Authorization") == ["Bearer caller"] })
            #expect(origin.server.requests.allSatisfy { $0.fields("User-Agent") == ["resume-store"] })
        }
    }

    @Test(
        "The engine answers a challenge, and it holds up no other request",
        arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Bearer"])
    func challenge(_ challenge: String) async throws {
        let refusal = Response.status("401 Unauthorized", fields: [("WWW-Authenticate", challenge)])
        try await Self.withOrigin({ $0.path == "/file" ? refusal : .file(.old, for: $0) }) { origin in
            #expect(await origin.failure()?.status == 401)
            let url = origin.server.baseURL + "/other"
            _ = try await Engine.get(url, to: origin.folder["out"], store: origin.store)
            #expect(try origin.hasDelivered(.old))
        }
    }

    @Test("Nothing is read from a cache")
    func uncached() async throws {
        let handler: Origin.Handler = {
            Response.file(.old, for: $0).settingField("Cache-Control", to: "max-age=1000")
        }
        try await Self.withOrigin(handler) { origin in
            let url = origin.url
            try await TransportKind.withTransport { transport in
                for number in 1...2 {
                    let request = DownloadRequest(try DownloadURL(url), to: origin.folder["\(number)"])
                    _ = try await Downloader(store: origin.store, transport: transport).download(request)
                }
            }
            #expect(origin.server.requests.count == 2)
            // The second request used the connection of the first.
            #expect(Set(origin.server.requests.map(\.connection)).count == 1)
        }
    }

    @Test("Several downloads at once, over one transport")
    func several() async throws {
        let large = Resource(Content(length: 5_000_000, seed: 9), etag: "\"a\"")
        try await Self.withOrigin({ .file(large, for: $0) }) { origin in
            let (store, folder, url) = (origin.store, origin.folder, origin.url)
            try await TransportKind.withTransport { transport in
                try await withThrowingTaskGroup { group in
                    for number in 1...4 {
                        group.addTask {
                            let request = DownloadRequest(try DownloadURL("\(url)\(number)"), to: folder["\(number)"])
                            _ = try await Downloader(store: store, transport: transport).download(request)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            for number in 1...4 {
                #expect(try Files.bytes(folder["\(number)"]) == large.bytes)
            }
        }
    }

    @Test("After shutdown the transport takes no request, and running ones fail")
    func shutDown() async throws {
        try await Self.withOrigin({ .file(.old, for: $0, cutAfter: 4096, stall: true) }) { origin in
            let transport = URLSessionTransport()
            let request = HTTPRequest(
                method: .get, scheme: "http", authority: "127.0.0.1:\(origin.server.port)", path: "/file",
                headerFields: [.acceptEncoding: "identity"])
            let body = try await transport.send(request).body
            transport.shutdown()
            await #expect(throws: TransportError(.invalidRequest, "")) { _ = try await body.read { _ in true } }
            await #expect(throws: TransportError(.invalidRequest, "")) { _ = try await transport.send(request) }
        }
    }
}
