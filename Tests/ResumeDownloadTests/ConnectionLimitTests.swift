import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import Scenarios
import TestSupport
import Testing

/// How many connections a transport opens to one host, and which requests wait for one.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    private static func get(
        _ transport: CurlTransport, _ server: OriginServer, timeout: Duration = Engine.patience
    ) async throws {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
        let response = try await transport.send(request, timeout: timeout)
        while try await response.body.read({ _ in true }) {}
    }

    /// A server whose answers wait at a gate.
    private static func withHeld(
        _ gate: Gate, _ body: (OriginServer) async throws -> Void
    ) async throws {
        try await OriginServer.withServer(handler: { Response([.gate(gate)] + Response.file(.old, for: $0).steps) }) {
            server in
            try await body(server)
        }
    }

    @Test("No host has more connections than permitted, on all threads together", arguments: [1, 2, 3])
    func all(limit: Int) async throws {
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { server in
            let transport = CurlTransport(.init(threads: 2, connectionsPerHost: limit))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...6 {
                    group.addTask { for _ in 1...30 { try await Self.get(transport, server) } }
                }
                try await group.waitForAll()
            }
            await transport.shutdown()
            #expect(server.requests.count == 180)
            // Connections are used again, so that each one that was opened counts.
            #expect(Set(server.requests.map(\.connection)).count <= limit)
        }
    }

    @Test(
        "No request waits while any thread has room, with as many threads as connections or fewer", arguments: [2, 3])
    func room(limit: Int) async throws {
        for _ in 1...30 {
            let gate = Gate()
            try await Self.withHeld(gate) { server in
                let transport = CurlTransport(.init(threads: 2, connectionsPerHost: limit))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...limit { group.addTask { try await Self.get(transport, server) } }
                    try await wait(for: "all requests to arrive") { server.requests.count == limit }
                    gate.open()
                    try await group.waitForAll()
                }
                await transport.shutdown()
            }
        }
    }

    @Test("A request that waits for a connection does not time out, and does not hold up other hosts")
    func waiting() async throws {
        let gate = Gate()
        try await Self.withHeld(gate) { busy in
            try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { other in
                let transport = CurlTransport(.init(threads: 2, connectionsPerHost: 1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await Self.get(transport, busy) }
                    try await wait(for: "the first request") { busy.requests.count == 1 }
                    for _ in 1...4 {
                        group.addTask { try await Self.get(transport, busy, timeout: .seconds(3)) }
                    }
                    for _ in 1...10 { try await Self.get(transport, other) }
                    try await Task.sleep(for: .seconds(4))
                    gate.open()
                    try await group.waitForAll()
                }
                await transport.shutdown()
                #expect(busy.requests.count == 5)
            }
        }
    }

    @Test("A shutdown ends requests that wait, and refuses later ones; a cancelled one does not begin")
    func ends() async throws {
        try await Self.withHeld(Gate()) { server in
            let transport = CurlTransport(.init(threads: 2, connectionsPerHost: 1))
            let first = Task { try await Self.get(transport, server) }
            try await wait(for: "the first request") { server.requests.count == 1 }
            let cancelled = Task { try await Self.get(transport, server) }
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            let waiting = Task { try await Self.get(transport, server) }
            try await Task.sleep(for: .milliseconds(50))
            await transport.shutdown()
            for task in [first, waiting] {
                let error = await #expect(throws: TransportError.self) { try await task.value }
                #expect(error?.code == .invalidRequest, "\(error as Any)")
            }
            await #expect(throws: TransportError.self) { try await Self.get(transport, server) }
            #expect(server.requests.count == 1)
        }
    }

    @Test("The greatest and the least number are valid", arguments: [Int.max, 0, -1, .min])
    func extreme(limit: Int) async throws {
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { server in
            let transport = CurlTransport(.init(threads: limit == .max ? 2 : limit, connectionsPerHost: limit))
            try await Self.get(transport, server)
            await transport.shutdown()
        }
    }
}
