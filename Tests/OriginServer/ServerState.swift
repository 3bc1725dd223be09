import Synchronization

/// What the connections of a server share, from any thread.
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

    /// Creates the state of a server that has not seen a connection.
    ///
    /// - Parameter handler: What answers requests.
    init(handler: @escaping Handler) {
        values = Mutex(Values(handler: handler))
    }

    /// The requests so far.
    var requests: [OriginRequest] { values.withLock { $0.requests } }

    /// The body bytes that sockets have taken so far.
    var bodyBytes: Int64 { values.withLock { $0.bodyBytes } }

    /// The number of connections that were ever accepted.
    var accepted: Int { values.withLock { $0.accepted } }

    /// The number of connections that are open.
    var open: Int { values.withLock { $0.open } }

    /// Replaces what answers requests.
    ///
    /// - Parameter handler: What answers the requests from now on.
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

    /// Counts body bytes that a socket has taken.
    ///
    /// - Parameter count: Their number.
    func countBodyBytes(_ count: Int) {
        guard count > 0 else { return }
        values.withLock { $0.bodyBytes += Int64(count) }
    }

    /// Numbers a request and puts it in the log.
    ///
    /// - Parameters:
    ///   - request: The request as the parser made it.
    ///   - connection: The number of its connection.
    /// - Returns: The numbered request, and what answers it; that is called without the lock.
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
