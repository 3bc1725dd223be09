import Foundation
import HTTPTypes
import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import Testing

/// Transports that nobody shuts down, as where an error ends the function that made one.
@Suite(.timeLimit(.minutes(5)))
struct LetGoTests {
    #if os(Linux)
    /// How many threads of event loops the process has.
    private static func loops() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            // A thread may end between the two.
            let name = try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)
            return name?.hasPrefix("NIO-ELT") ?? false
        }
    }
    #endif

    @Test("A transport that is released without a shutdown ends its threads, and its program goes on", arguments: 0...1)
    func transport(answers: Int) async throws {
        await #expect(processExitsWith: .success) { [answers = answers as Int] in
            do {
                let transport = AsyncHTTPTransport(.init(threads: 1))
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
            // The process must end even where they do not.
            let deadline = ContinuousClock.now + .seconds(120)
            while try LetGoTests.loops() > 0, ContinuousClock.now < deadline {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(try LetGoTests.loops() == 0)
            #endif
        }
    }
}
