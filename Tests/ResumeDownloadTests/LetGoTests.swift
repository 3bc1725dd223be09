import Foundation
import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import Testing

/// Transports that are never shut down, as when an error ends the function that created one.
@Suite(.timeLimit(.minutes(5)))
struct LetGoTests {
    #if os(Linux)
    /// The number of network threads of the process.
    private static func loops() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            // A thread may end between the two.
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("resume-net") ?? false
        }
    }
    #endif

    @Test("A transport released without a shutdown ends its threads, and the program continues", arguments: 0...1)
    func transport(answers: Int) async throws {
        await #expect(processExitsWith: .success) { [answers = answers as Int] in
            do {
                let transport = CurlTransport(.init(threads: 1))
                var authority = "127.0.0.1:1"
                if answers > 0 {
                    // Its connection is open by then.
                    let server = try await OriginServer.start { _ in .status("200 OK", body: [1]) }
                    authority = "127.0.0.1:\(server.port)"
                    let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")
                    let body = try await transport.send(request).body
                    while try await body.read({ _ in true }) {}
                    try await server.stop()
                } else {
                    let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")
                    await #expect(throws: (any Error).self) { try await transport.send(request) }
                }
                #if os(Linux)
                #expect(try LetGoTests.loops() >= 1)
                #endif
            }
            #if os(Linux)
            // The process must end even if they do not.
            let deadline = ContinuousClock.now + .seconds(120)
            while try LetGoTests.loops() > 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(try LetGoTests.loops() == 0)
            #endif
        }
    }

    private static let kinds: [TransportKind] = [.curl, .urlSession]

    @Test("A request without a URL is an error, and is not sent", arguments: kinds)
    func noURL(kind: TransportKind) async throws {
        try await TransportKind.$current.withValue(kind) {
            try await TransportKind.withTransport { transport in
                let whole = HTTPRequest(
                    method: .get, scheme: "http", authority: "127.0.0.1:1", path: "/",
                    headerFields: [.acceptEncoding: "identity"])
                for property in [\HTTPRequest.scheme, \.authority, \.path] {
                    var request = whole
                    request[keyPath: property] = nil
                    let error = await #expect(throws: TransportError.self) { _ = try await transport.send(request) }
                    #expect(error?.message == "the request has no valid URL")
                }
            }
        }
    }

    @Test("After shutdown a transport takes no request, running ones fail, and a second shutdown has no effect")
    func shutDown() async throws {
        try await OriginServer.withServer(handler: { _ in
            Response([.head(status: "200 OK", fields: [("Content-Length", "10")]), .raw([1]), .hold])
        }) { server in
            let transport = CurlTransport(.init(connectTimeout: Engine.patience, threads: 1))
            let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
            let body = try await transport.send(request).body
            await transport.shutdown()
            await #expect(throws: TransportError(.invalidRequest, "")) { _ = try await body.read { _ in true } }
            await transport.shutdown()
            let error = await #expect(throws: TransportError.self) { _ = try await transport.send(request) }
            #expect(error?.message == "the transport has been shut down")
            #expect(server.requests.count == 1)
        }
    }
}
