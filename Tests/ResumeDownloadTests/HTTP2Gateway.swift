import Foundation
import HTTPTypes
import ResumeCurl
import ResumeDownload
import TestSupport

/// HTTP/2 over TLS in front of HTTP/1 origins on this machine, by one nghttpx for each origin.
///
/// A response that ends early becomes a stream reset. A response head that is not valid HTTP/1, or none at all, becomes
/// a 502. Nothing else is changed.
actor HTTP2Gateway {
    /// A key and a certificate for 127.0.0.1, made only for these tests, valid until 2049.
    static let certificate = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("gateway.pem").path

    private struct Server {
        let port: Int
        let process: ChildProcess
    }

    private let folder: TemporaryFolder
    /// The servers by the ports of their origins.
    private var servers: [Int: Task<Server, any Error>] = [:]

    private init(_ folder: TemporaryFolder) { self.folder = folder }

    /// Runs a body with a gateway.
    static func with<Result>(_ body: (HTTP2Gateway) async throws -> Result) async throws -> Result {
        try await TemporaryFolder.with { folder in
            let gateway = HTTP2Gateway(folder)
            do {
                let result = try await body(gateway)
                await gateway.stop()
                return result
            } catch {
                await gateway.stop()
                throw error
            }
        }
    }

    /// The port of the gateway to an origin, which is started if necessary.
    func port(toOrigin origin: Int) async throws -> Int {
        let server = servers[origin] ?? Task { try await Self.start(toOrigin: origin, in: folder) }
        servers[origin] = server
        return try await server.value.port
    }

    private static func start(toOrigin origin: Int, in folder: TemporaryFolder) async throws -> Server {
        let port = try Loopback.freePort()
        let timeouts = [
            "frontend-http2-read", "frontend-http2-settings", "frontend-write", "stream-write", "backend-read",
            "backend-write", "backend-connect",
        ]
        let unchanged = [
            "no-via", "no-server-rewrite", "no-location-rewrite", "no-add-x-forwarded-proto", "no-server-push",
        ]
        let process = try Shell.start(
            "nghttpx",
            [
                // No file of the machine has an effect.
                "--conf=/dev/null", "--errorlog-file=\(folder["errors"])", "--accesslog-file=/dev/null", "--no-ocsp",
                "--single-process", "--workers=1", "--host-rewrite", "--frontend=127.0.0.1,\(port)",
                "--backend=127.0.0.1,\(origin)",
            ] + timeouts.map { "--\($0)-timeout=1h" } + unchanged.map { "--\($0)" } + [certificate, certificate],
            output: folder["output"])
        guard try await Loopback.waits(for: process, at: port) else {
            let output = String(decoding: try Files.bytes(folder["output"]), as: UTF8.self)
            throw Shell.Failure(description: "nghttpx did not start: \(output)")
        }
        return Server(port: port, process: process)
    }

    private func stop() async {
        for server in servers.values {
            guard let process = try? await server.value.process else { continue }
            process.send(SIGTERM)
            await process.wait()
        }
    }
}

/// A transport whose requests go through a gateway.
///
/// Callers see the URLs of the origin.
struct GatewayTransport: Transport {
    let transport: CurlTransport
    let gateway: HTTP2Gateway

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let origin = request.authority?.split(separator: ":").last.flatMap { Int($0) } ?? 80
        var wrapped = request
        wrapped.scheme = "https"
        wrapped.authority = "127.0.0.1:\(try await gateway.port(toOrigin: origin))"
        return try await transport.send(wrapped)
    }
}
