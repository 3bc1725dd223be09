import HTTPTypes
import NIOCore
import NIOPosix
import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Bytes that a server sends before it is asked.
@Suite(.timeLimit(.minutes(5)))
struct UnsolicitedTests {
    /// Answers each first request of a connection, and begins to answer a second one that has not arrived yet.
    private final class Eager: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var requests = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            requests += 1
            let text =
                requests == 1
                ? "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nGOOD" : "\r\nEVIL"
            context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            context.writeAndFlush(NIOAny(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n")), promise: nil)
        }
    }

    private static func body(_ transport: AsyncHTTPTransport, _ port: Int) async throws -> String {
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
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let first = Mutex<(any Channel)?>(nil)
        let listener = try await ServerBootstrap(group: group).childChannelInitializer { channel in
            first.withLock { $0 = $0 ?? channel }
            return channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(Eager())
            }
        }.bind(host: "127.0.0.1", port: 0).get()
        let port = listener.localAddress?.port ?? 0
        let transport = AsyncHTTPTransport(.init(connectTimeout: Engine.patience, threads: 1))
        #expect(try await Self.body(transport, port) == "GOOD")
        let connection = try #require(first.withLock { $0 })
        connection.pipeline.fireUserInboundEventTriggered(())
        // The client's only loop has seen those bytes once it has done something else.
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { server in
            for _ in 1...3 { _ = try await Self.body(transport, server.port) }
        }
        do {
            #expect(try await Self.body(transport, port) == "GOOD")
        } catch let error as TransportError {
            #expect(error.isTransient)
        }
        try await transport.shutdown()
        try await group.shutdownGracefully()
    }
}
