import Synchronization

/// The servers of a test, which run until this value is released.
///
/// Handlers must not refer to it, since that would keep both.
public final class Servers: Sendable {
    private let running = Mutex<[OriginServer]>([])

    /// Creates a value without servers.
    public init() {}

    deinit {
        for server in running.withLock({ $0 }) { Task { try? await server.stop() } }
    }

    /// Starts a server.
    ///
    /// - Parameter handler: Creates the answer to each request, as for
    ///   ``OriginServer/start(port:sendBufferSize:handler:)``.
    /// - Returns: The server.
    /// - Throws: ``SocketError`` if there is no free port.
    public func serve(_ handler: @escaping @Sendable (OriginRequest) -> Response) async throws -> OriginServer {
        let server = try await OriginServer.start(handler: handler)
        running.withLock { $0.append(server) }
        return server
    }
}
