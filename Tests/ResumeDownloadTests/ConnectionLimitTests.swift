import HTTPTypes
import OriginServer
import ResumeCurl
import ResumeDownload
import Scenarios
import Testing

/// How many connections a transport opens to one host.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    @Test("No host has more connections than permitted, on all threads together", arguments: [1, 2, 3])
    func all(limit: Int) async throws {
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { server in
            let transport = CurlTransport(.init(threads: 2, connectionsPerHost: limit))
            await #expect(throws: Never.self) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...6 {
                        group.addTask {
                            for _ in 1...30 {
                                let response = try await transport.send(
                                    HTTPRequest(
                                        method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"))
                                while try await response.body.read({ _ in true }) {}
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            await transport.shutdown()
            #expect(server.requests.count == 180)
            // Connections are used again, so that each one that was opened counts.
            #expect(Set(server.requests.map(\.connection)).count <= limit)
        }
    }
}
