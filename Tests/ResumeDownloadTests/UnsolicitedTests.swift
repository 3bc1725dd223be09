import HTTPTypes
import OriginServer
import ResumeCurl
@testable import ResumeDownload
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Bytes that a server sends before it is asked.
@Suite(.timeLimit(.minutes(5)))
struct UnsolicitedTests {
    private static func body(_ transport: CurlTransport, _ port: Int) async throws -> String {
        let response = try await transport.send(
            HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(port)", path: "/"))
        let text = Mutex("")
        while try await response.body.read({ part in
            part.withUnsafeBytes { bytes in text.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
            return true
        }) {}
        return text.withLock { $0 }
    }

    @Test("Unsolicited bytes are not part of the answer to the next request")
    func partOfHead() async throws {
        let gate = Gate()
        let isSent = Atomic(false)
        let connections = Mutex<Set<Int>>([])
        // Answers the first request of each connection, and on the first connection begins to answer a second one that
        // has not arrived yet.
        let eager = try await OriginServer.start { request in
            let isFirst = connections.withLock { $0.insert(request.connection).inserted }
            guard isFirst else { return Response([.raw(Array("\r\nEVIL".utf8))]) }
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
            let answer = Step.raw(Array((head + "\r\nGOOD").utf8))
            guard request.number == 1 else { return Response([answer]) }
            let sent = Step.wait {
                isSent.store(true, ordering: .releasing)
                return true
            }
            return Response([answer, .gate(gate), .raw(Array(head.utf8)), sent])
        }
        let port = eager.port
        let transport = CurlTransport(.init(connectTimeout: Engine.patience, threads: 1))
        #expect(try await Self.body(transport, port) == "GOOD")
        gate.open()
        try await wait(for: "the unsolicited bytes to be sent") { isSent.load(ordering: .acquiring) }
        // The client's only thread has seen those bytes once it has done something else.
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { server in
            for _ in 1...3 { _ = try await Self.body(transport, server.port) }
        }
        do {
            #expect(try await Self.body(transport, port) == "GOOD")
        } catch let error as TransportError {
            #expect(error.isTransient)
        }
        await transport.shutdown()
        try await eager.stop()
    }
}
