import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Bytes that had arrived when the server closed the connection.
@Suite(.timeLimit(.minutes(5)))
struct ArrivalTests {
    private static func withTransport(
        _ server: EarlyEnd, _ body: (any Transport) async throws -> Void
    ) async throws {
        guard TransportKind.current != .urlSession else {
            return try await TransportKind.withTransport { try await body($0) }
        }
        let transport = CurlTransport(
            .init(
                connectTimeout: Engine.patience, trustedCertificates: HTTP2Gateway.certificate, threads: 1,
                usesHTTP2: server.kind.isHTTP2))
        do {
            try await body(transport)
            await transport.shutdown()
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    @Test("Unread bytes are not lost", arguments: EarlyEnd.Kind.allCases)
    func unread(kind: EarlyEnd.Kind) async throws {
        // More than the transport buffers before it is read, and no more than the system buffers then.
        let bytes = sampleBytes((1 << 20) + (64 << 10))
        try await EarlyEnd.with(kind, sending: bytes) { server in
            try await Self.withTransport(server) { transport in
                for number in 1...10 {
                    let response = try await transport.send(
                        HTTPRequest(
                            method: .get, scheme: kind.isSecure ? "https" : "http",
                            authority: "127.0.0.1:\(server.port)", path: "/"))
                    try await wait(for: "the end") { server.endings == number }
                    let received = Mutex<[UInt8]>([])
                    let error = await #expect(throws: TransportError.self) {
                        while try await response.body.read({ part in
                            part.withUnsafeBytes { bytes in received.withLock { $0 += bytes } }
                            return true
                        }) {}
                    }
                    // Not in the handshake.
                    #expect(error?.message.contains("handshake") == false)
                    let isWhole = received.withLock { $0 == bytes }
                    #expect(isWhole, "run \(number): \(received.withLock { $0.count }) bytes")
                }
            }
        }
    }

    @Test("Unread bytes are not lost with URLSession")
    func urlSession() async throws {
        try await TransportKind.$current.withValue(.urlSession) { try await held(kind: .plain) }
    }

    @Test("All arrived bytes are kept, and only the rest is requested", arguments: EarlyEnd.Kind.allCases)
    func held(kind: EarlyEnd.Kind) async throws {
        let bytes = sampleBytes((3 << 20) - 1)
        try await EarlyEnd.with(kind, sending: bytes) { server in
            try await Self.withTransport(server) { transport in
                try await DownloadStore.with { store, folder in
                    for number in 1...25 {
                        let url = "\(kind.isSecure ? "https" : "http")://127.0.0.1:\(server.port)/\(number)"
                        var request = DownloadRequest(try DownloadURL(url), to: folder["\(number)"])
                        request.retryPolicy = .init(retries: 0)
                        request.stallTimeout = Engine.patience
                        let cut = request
                        await #expect(throws: DownloadError.self) {
                            _ = try await Downloader(store: store, transport: transport).download(cut)
                        }
                        #expect(try await store.entry(for: url)?.receivedBytes == Int64(bytes.count), "run \(number)")
                    }
                }
            }
        }
    }
}
