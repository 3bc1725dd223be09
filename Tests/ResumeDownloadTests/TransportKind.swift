import Foundation
import ResumeCurl
import ResumeDownload
import ResumeURLSession
import Testing

/// A transport that the engine's tests run on.
enum TransportKind: String, Sendable, CaseIterable {
    case curl
    /// The same with HTTP/2 over TLS, through a gateway in front of the origin.
    case http2
    case urlSession

    /// The transports of all suites: URLSession if `TEST_URLSESSION` is set, suite by suite.
    ///
    /// On Linux all its sessions share one thread, and running the whole module at once has crashed there.
    static let tested: [TransportKind] =
        ProcessInfo.processInfo.environment["TEST_URLSESSION"] == nil ? [.curl] : [.curl, .urlSession]

    /// The transport of this run of the test.
    @TaskLocal static var current = TransportKind.curl

    /// Runs a body with a transport, and shuts it down afterwards.
    static func withTransport<Result>(
        _ configuration: CurlTransport.Configuration = .init(connectTimeout: Engine.patience, threads: 1),
        _ body: (any Transport) async throws -> Result
    ) async throws -> Result {
        switch current {
        case .curl:
            let transport = CurlTransport(configuration)
            do {
                let result = try await body(transport)
                await transport.shutdown()
                return result
            } catch {
                await transport.shutdown()
                throw error
            }
        case .http2:
            return try await HTTP2Gateway.with { gateway in
                var configuration = configuration
                configuration.usesHTTP2 = true
                configuration.trustedCertificates = HTTP2Gateway.certificate
                let transport = CurlTransport(configuration)
                do {
                    let result = try await body(GatewayTransport(transport: transport, gateway: gateway))
                    await transport.shutdown()
                    return result
                } catch {
                    await transport.shutdown()
                    throw error
                }
            }
        case .urlSession:
            let transport = URLSessionTransport()
            defer { transport.shutdown() }
            return try await body(transport)
        }
    }
}

/// Runs each test of a suite on each transport in turn, except tests that state a reason not to.
struct EachTransport: SuiteTrait, TestTrait, TestScoping {
    /// Transports that only some suites run on.
    let more: [TransportKind]

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let isLimited = test.traits.contains { $0 is CurlOnly }
        for kind in isLimited ? [.curl] : TransportKind.tested + more {
            try await TransportKind.$current.withValue(kind) { try await function() }
        }
    }
}

/// A test of a feature that only `CurlTransport` has.
///
/// `docs/transports.md` describes the difference.
struct CurlOnly: TestTrait {
    let reason: String
}

extension Trait where Self == EachTransport {
    static var eachTransport: Self { Self(more: []) }

    /// Each transport, and HTTP/2.
    static var eachTransportAndHTTP2: Self { Self(more: [.http2]) }
}

extension Trait where Self == CurlOnly {
    static func curlOnly(_ reason: String) -> Self { Self(reason: reason) }
}
