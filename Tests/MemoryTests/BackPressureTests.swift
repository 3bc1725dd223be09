import Foundation
import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeURLSession
import Synchronization
import TestSupport
import Testing

/// A transport reads no faster than its reader.
///
/// In a separate module: on Linux a busy reader blocks every URLSession of the process.
@Suite(.timeLimit(.minutes(20)), .serialized)
struct BackPressureTests {
    enum Kind: CaseIterable { case curl, urlSession }

    private static let length: Int64 = 400 << 20
    /// The socket buffers on both sides, and those of the transport and of the client.
    ///
    /// The body is many times as long.
    private static let most: Int64 = 40 << 20

    private static func withBody(
        over kind: Kind, length: Int64 = length, read: Gate? = nil,
        _ body: (OriginServer, TransportResponse) async throws -> Void
    ) async throws {
        let resource = Resource(Content(length: length, seed: 5), etag: "\"a\"")
        let handler: @Sendable (OriginRequest) -> Response = { request in
            guard request.path == "/file" else { return .status("204 No Content", fields: [("Connection", "close")]) }
            var response = Response.file(resource, for: request)
            if let read { response.steps += [.drain, .gate(read)] }
            return response
        }
        try await OriginServer.withServer(handler: handler) { server in
            let request = request(for: "/file", of: server)
            switch kind {
            case .curl:
                let transport = CurlTransport(.init(threads: 1))
                try await body(server, try await transport.send(request))
                await transport.shutdown()
            case .urlSession:
                let transport = URLSessionTransport()
                try await body(server, try await transport.send(request))
                transport.shutdown()
            }
        }
    }

    private static func request(for path: String, of server: OriginServer) -> HTTPRequest {
        HTTPRequest(
            method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path,
            headerFields: [.acceptEncoding: "identity"])
    }

    /// The number of sent bytes once it has not changed while the origin answered twenty other requests.
    ///
    /// Each uses a separate connection, so that both threads of the origin have answered some.
    private static func sentAtRest(_ server: OriginServer) async throws -> Int64 {
        let transport = CurlTransport(.init(threads: 1))
        var (sent, looks) = (Int64(-1), 0)
        while looks < 20 {
            try await Task.sleep(for: .milliseconds(20))
            let response = try await transport.send(request(for: "/other", of: server))
            _ = try await response.body.read { _ in true }
            let now = server.bodyBytesSent
            looks = now == sent && now > 0 ? looks + 1 : 0
            sent = now
        }
        await transport.shutdown()
        return sent
    }

    @Test("While a reader is busy, the origin is not read", arguments: Kind.allCases)
    func busy(kind: Kind) async throws {
        try await Self.withBody(over: kind) { server, response in
            let gate = DispatchSemaphore(value: 0)
            let received = Atomic<Int64>(0)
            let reading = Task {
                try await response.body.read { bytes in
                    if received.add(Int64(bytes.byteCount), ordering: .relaxed).oldValue == 0 { gate.wait() }
                    return true
                }
            }
            // The reader waits even if this test fails, and blocks its thread.
            defer { gate.signal() }
            let sent = try await Self.sentAtRest(server)
            gate.signal()
            #expect(sent < Self.most)
            #expect(try await !reading.value)
            #expect(received.load(ordering: .relaxed) == Self.length)
        }
    }

    @Test("Without a reader the origin is not read; received bytes are delivered first", arguments: Kind.allCases)
    func paused(kind: Kind) async throws {
        try await Self.withBody(over: kind) { server, response in
            #expect(try await Self.sentAtRest(server) < Self.most)
            let content = Content(length: Self.length, seed: 5)
            let received = Mutex<[UInt8]>([])
            for round in 1...5 {
                let hasMore = try await response.body.read { bytes in
                    bytes.withUnsafeBytes { part in received.withLock { $0 += part } }
                    return received.withLock { $0.count } < round << 20
                }
                #expect(hasMore)
            }
            let bytes = received.withLock { $0 }
            #expect(bytes.count >= 5 << 20)
            #expect(bytes == content.bytes(in: 0..<Int64(bytes.count)))
            response.body.cancel(with: CancellationError())
        }
    }

    @Test("Dropped data is not delivered, and the reader gets the reason", arguments: Kind.allCases)
    func cancelled(kind: Kind) async throws {
        try await Self.withBody(over: kind) { server, response in
            _ = try await Self.sentAtRest(server)
            response.body.cancel(with: TransportError(.stalled, "The test said so."))
            await #expect(throws: TransportError(.stalled, "")) {
                _ = try await response.body.read { _ in true }
            }
        }
    }

    @Test("A complete body whose rest is dropped has no end", arguments: Kind.allCases)
    func cancelledAtEnd(kind: Kind) async throws {
        let length: Int64 = 300_000
        let read = Gate()
        try await Self.withBody(over: kind, length: length, read: read) { _, response in
            let received = Atomic<Int64>(0)
            _ = try await response.body.read { bytes in
                received.add(Int64(bytes.byteCount), ordering: .relaxed)
                return false
            }
            // The rest waits in the transport.
            try await wait(for: "the transport to have read the body") { read.arrivals == 1 }
            #expect(received.load(ordering: .relaxed) < length)
            response.body.cancel(with: TransportError(.stalled, "The test said so."))
            await #expect(throws: TransportError(.stalled, "")) {
                _ = try await response.body.read { _ in true }
            }
        }
    }

    @Test(
        "400 MiB over a slow reader use no more memory than buffers",
        .enabled(if: FileManager.default.isWritableFile(atPath: "/proc/self/clear_refs")), arguments: Kind.allCases)
    func memory(kind: Kind) async throws {
        try await Self.withBody(over: kind) { _, response in
            let before = Self.resident("VmRSS")
            // Resets the peak.
            try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
            let received = Atomic<Int64>(0)
            let hasMore = try await response.body.read { bytes in
                let before = received.add(Int64(bytes.byteCount), ordering: .relaxed).oldValue
                if (before + Int64(bytes.byteCount)) >> 20 != before >> 20 { usleep(2000) }
                return true
            }
            #expect(!hasMore)
            let peak = Self.resident("VmHWM")
            let more = peak - before
            print("memory: \(kind): \(before >> 10) KiB before, \(more >> 10) KiB more at most")
            #expect(before > 0 && more < Self.most, "\(more) of \(Self.length) bytes lay in memory")
            #expect(received.load(ordering: .relaxed) == Self.length)
        }
    }

    private static func resident(_ name: String) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n")
        let line = lines?.first { $0.hasPrefix("\(name):") }
        return (line.flatMap { Int($0.filter(\.isNumber)) } ?? 0) << 10
    }
}
