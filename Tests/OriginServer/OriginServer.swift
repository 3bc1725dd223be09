import NIOCore
import NIOPosix
import Synchronization

/// An HTTP/1.1 server on 127.0.0.1 whose answers are scripts of bytes, pauses and ends of connection.
///
/// It runs until ``stop()``, even without references to it; ``withServer(port:sendBufferSize:handler:_:)`` stops it
/// automatically.
public final class OriginServer: Sendable {
    /// The number of event loops, each with its thread.
    private static let loopCount = 2

    /// The port that the server listens on.
    public let port: Int

    private let listener: any Channel
    private let group: MultiThreadedEventLoopGroup
    private let state: ServerState
    private let hasStopped = Atomic(false)

    private init(port: Int, listener: any Channel, group: MultiThreadedEventLoopGroup, state: ServerState) {
        self.port = port
        self.listener = listener
        self.group = group
        self.state = state
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: The port to listen on; 0 selects a free one.
    ///   - sendBufferSize: The size of the send buffer of each connection in bytes (`SO_SNDBUF`), `nil` for the
    ///     system's default. A small one keeps ``bodyBytesSent`` close to what the client has read.
    ///   - handler: Creates the answer to each request. It is called on an event loop, for requests of several
    ///     connections at a time, and must not block.
    /// - Returns: The server, which accepts connections from now on.
    /// - Throws: An error if the port cannot be bound.
    public static func start(
        port: Int = 0,
        sendBufferSize: Int? = nil,
        handler: @escaping @Sendable (OriginRequest) -> Response
    ) async throws -> OriginServer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loopCount)
        let state = ServerState(handler: handler)
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ConnectionHandler(state: state))
                }
            }
        if let sendBufferSize {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: numericCast(sendBufferSize))
        }
        do {
            let listener = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
            let bound = listener.localAddress?.port ?? port
            return OriginServer(port: bound, listener: listener, group: group, state: state)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Runs a body with a server and stops the server at the end, even after an error.
    ///
    /// - Parameters:
    ///   - port: The port to listen on; 0 selects a free one.
    ///   - sendBufferSize: The size of the send buffer of each connection, as for the start.
    ///   - handler: Creates the answer to each request, as for the start.
    ///   - body: The code that uses the server.
    /// - Returns: The result of `body`.
    /// - Throws: Any error from the start or `body`.
    public static func withServer<Value>(
        port: Int = 0,
        sendBufferSize: Int? = nil,
        handler: @escaping @Sendable (OriginRequest) -> Response,
        _ body: (OriginServer) async throws -> Value
    ) async throws -> Value {
        let server = try await start(port: port, sendBufferSize: sendBufferSize, handler: handler)
        do {
            let value = try await body(server)
            try await server.stop()
            return value
        } catch {
            try? await server.stop()
            throw error
        }
    }

    /// The address of the server, `http://127.0.0.1:PORT` without a slash at the end.
    public var baseURL: String { "http://127.0.0.1:\(port)" }

    /// The log of all requests, in the order of their numbers.
    public var requests: [OriginRequest] { state.requests }

    /// The number of payload bytes of body steps that sockets have accepted, without heads and chunk framing.
    ///
    /// The system accepts pieces of up to 64 KiB. A client that leaves in the middle may have read megabytes less,
    /// which stayed in the socket buffers of the two sides.
    public var bodyBytesSent: Int64 { state.bodyBytes }

    /// The number of connections accepted so far.
    public var acceptedConnections: Int { state.accepted }

    /// The number of open connections.
    public var openConnections: Int { state.open }

    /// Replaces the handler of requests.
    ///
    /// - Parameter handler: Creates the answers to requests from now on; current answers continue unchanged.
    public func setHandler(_ handler: @escaping @Sendable (OriginRequest) -> Response) {
        state.setHandler(handler)
    }

    /// Stops listening, closes all connections and ends the threads; a second stop has no effect.
    ///
    /// - Throws: Any error from the shutdown of the event loops.
    public func stop() async throws {
        // A closed event loop does not answer, so the listener is closed once; the group can be shut down again.
        let wasStopped = hasStopped.exchange(true, ordering: .relaxed)
        if !wasStopped { try? await listener.close().get() }
        try await group.shutdownGracefully()
    }
}
