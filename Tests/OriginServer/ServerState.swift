import Synchronization

/// The shared state of a server's connections, for any thread.
final class ServerState: Sendable {
    typealias Handler = @Sendable (OriginRequest) -> Response

    private struct Values {
        var handler: Handler
        var requests: [OriginRequest] = []
        var bodyBytes: Int64 = 0
        var accepted = 0
        var open = 0
    }

    private let values: Mutex<Values>

    /// Creates the state of a server without connections.
    ///
    /// - Parameter handler: The handler of requests.
    init(handler: @escaping Handler) {
        values = Mutex(Values(handler: handler))
    }

    /// The requests so far.
    var requests: [OriginRequest] { values.withLock { $0.requests } }

    /// The body bytes that sockets have accepted so far.
    var bodyBytes: Int64 { values.withLock { $0.bodyBytes } }

    /// The number of connections accepted so far.
    var accepted: Int { values.withLock { $0.accepted } }

    /// The number of open connections.
    var open: Int { values.withLock { $0.open } }

    /// Replaces the handler of requests.
    ///
    /// - Parameter handler: The handler of requests from now on.
    func setHandler(_ handler: @escaping Handler) {
        values.withLock { $0.handler = handler }
    }

    /// Counts a new connection.
    ///
    /// - Returns: Its number.
    func openConnection() -> Int {
        values.withLock { values in
            values.accepted += 1
            values.open += 1
            return values.accepted
        }
    }

    /// Counts a connection that ended.
    func closeConnection() {
        values.withLock { $0.open -= 1 }
    }

    /// Counts body bytes that a socket has accepted.
    ///
    /// - Parameter count: Their number.
    func countBodyBytes(_ count: Int) {
        guard count > 0 else { return }
        values.withLock { $0.bodyBytes += Int64(count) }
    }

    /// Numbers a request and adds it to the log.
    ///
    /// - Parameters:
    ///   - request: The request from the parser.
    ///   - connection: The number of its connection.
    /// - Returns: The numbered request, and its handler, which is called without the lock.
    func record(_ request: OriginRequest, connection: Int) -> (request: OriginRequest, handler: Handler) {
        values.withLock { values in
            var request = request
            request.number = values.requests.count + 1
            request.connection = connection
            values.requests.append(request)
            return (request, values.handler)
        }
    }
}
