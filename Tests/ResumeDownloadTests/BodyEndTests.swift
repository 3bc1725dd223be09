import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Bodies that end in ways that no correct server's do.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct BodyEndTests {
    /// How the last answer's framing is broken after its last byte.
    enum Break: CaseIterable {
        case noLastChunk, surplusByte
    }

    @Test(
        "A wrong Content-Digest counts even if the body breaks off after its last byte", arguments: Break.allCases)
    func digestOfBrokenBody(kind: Break) async throws {
        try await Origin.afterCut { origin in
            let range: Range<Int64> = 55_904..<100_000
            var altered = Resource.old.content.bytes(in: range)
            let digest = Sample.field(altered)
            altered[40_000] ^= 1
            if kind == .surplusByte { altered.append(0) }
            let (content, came) = (Content(altered), Maximum())
            origin.server.setHandler { request in
                guard request.number == 2 else { return .file(.old, for: request) }
                let fields = [
                    ("ETag", "\"a\""), ("Content-Range", "bytes 55904-99999/100000"), ("Content-Digest", digest),
                    ("Transfer-Encoding", "chunked"),
                ]
                return Response([
                    .head(status: "206 Partial Content", fields: fields),
                    .chunked(content, content.all, chunkSize: 10_000),
                    .wait(until: { came.value == 100_000 }), .reset,
                ])
            }
            try await origin.get(.old, onEvent: { came.note($0) })
            #expect(try await origin.reasons().contains("content-digest-mismatch"))
        }
    }

    @Test("A server that cuts each connection after 64 KiB is asked again within 15 ms")
    func manyCuts() async throws {
        let file = Resource(Content(length: 1 << 20, seed: 1), etag: "\"v1\"")
        try await Origin.with({ .file(file, for: $0, cutAfter: 64 << 10) }) { origin in
            let waits = Mutex<[Duration]>([])
            let result = try await origin.get(
                file, { $0.retryPolicy = .init() },
                onEvent: { event in
                    if case .retrying(_, let delay) = event { waits.withLock { $0.append(delay) } }
                })
            #expect(result.totalBytes == 1 << 20)
            // Some are shorter because the transport loses data when a connection ends.
            #expect(waits.withLock { $0.filter { $0 <= .milliseconds(15) }.count } >= 10)
        }
    }

    @Test("Empty but complete parts are not requested repeatedly")
    func emptyParts() async throws {
        let file = Resource(Content(length: 6_000_000, seed: 1), etag: "\"v1\"")
        // The first answer continues once an empty part has been requested again, so that another part owns its end by
        // then.
        let handler = together(3) { request in
            guard let part = request.byteRange else { return .file(file, for: request) }
            let fields = [
                ("ETag", "\"v1\""), ("Transfer-Encoding", "chunked"),
                ("Content-Range", "bytes \(part.first)-\(part.last ?? 5_999_999)/6000000"),
            ]
            return Response([.head(status: "206 Partial Content", fields: fields), .lastChunk])
        }
        try await Origin.with(handler) { origin in
            await origin.fails(.unreachable) { request in
                request.connections = 3
                request.retryPolicy = RetryPolicy(time: .seconds(1), firstDelay: .milliseconds(100))
            }
            #expect(origin.server.requests.count < 30)
        }
    }

    @Test("The answer that exceeds the limit of restarts is not left hanging")
    func lastStart() async throws {
        // More than the buffers of a connection hold.
        let large = Resource(Content(length: 64 << 20, seed: 3), etag: "\"a\"")
        try await Origin.afterCut { origin in
            origin.server.setHandler { request in
                request.number == 2 ? .file(.new, for: request, cutAfter: 20_000) : .file(large, for: request)
            }
            try await TransportKind.withTransport { transport in
                var request = DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"])
                request.retryPolicy = .init(
                    retries: 3, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20),
                    restarts: 1
                )
                request.stallTimeout = Engine.patience
                do {
                    _ = try await Downloader(store: origin.store, transport: transport).download(request)
                    Issue.record("It was delivered.")
                } catch let error as DownloadError {
                    #expect(error.code == .unstable)
                }
                try await wait { origin.server.openConnections == 0 }
            }
        }
    }

    @Test("One-byte chunks, many of which wait for a reader, are all delivered")
    func tinyChunks() async throws {
        let file = Resource(Content(length: 30_000, seed: 4), etag: "\"v1\"")
        try await Origin.with({ request in
            let fields = [("ETag", "\"v1\""), ("Transfer-Encoding", "chunked")]
            return Response([
                .head(status: "200 OK", fields: fields), .chunked(file.content, file.content.all, chunkSize: 1),
                .lastChunk,
            ])
        }) { origin in
            try await TransportKind.withTransport { transport in
                var request = DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"])
                request.rateLimit = 30_000
                request.stallTimeout = Engine.patience
                _ = try await Downloader(store: origin.store, transport: transport).download(request)
            }
            #expect(try origin.hasDelivered(file))
        }
    }
}
