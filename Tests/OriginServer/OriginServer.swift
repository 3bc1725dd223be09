/// An HTTP/1.1 server on 127.0.0.1 whose answers are scripts of bytes, pauses and ends of connection.
///
/// It runs until ``stop()``, even without references to it; ``withServer(port:sendBufferSize:handler:_:)`` stops it
/// automatically.
public final class OriginServer: Sendable {
    /// The port that the server listens on.
    public let port: Int

    private let loop: ServerLoop
    private let state: ServerState

    private init(port: Int, loop: ServerLoop, state: ServerState) {
        self.port = port
        self.loop = loop
        self.state = state
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: The port to listen on; 0 selects a free one.
    ///   - sendBufferSize: The size of the send buffer of each connection in bytes (`SO_SNDBUF`), `nil` for the
    ///     system's default. A small one keeps ``bodyBytesSent`` close to what the client has read.
    ///   - handler: Creates the answer to each request. It is called on the thread of the server, for one request at a time,
    ///     and must not block.
    /// - Returns: The server, which accepts connections from now on.
    /// - Throws: ``SocketError`` if the port cannot be bound.
    public static func start(
        port: Int = 0,
        sendBufferSize: Int? = nil,
        handler: @escaping @Sendable (OriginRequest) -> Response
    ) async throws -> OriginServer {
        let state = ServerState(handler: handler)
        let listener = try Socket(listeningAt: port)
        do {
            let loop = try ServerLoop(listener, sendBufferSize: sendBufferSize, state: state)
            return OriginServer(port: listener.port ?? port, loop: loop, state: state)
        } catch {
            listener.close()
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

    /// Stops listening, closes all connections and ends the thread; a second stop has no effect.
    ///
    /// - Throws: No error at present.
    public func stop() async throws {
        await loop.stop()
    }
}
