/// Serves one connection: handles its requests one after the other and runs the script of each.
///
/// It is used only on the thread of its loop.
final class Connection {
    let socket: Socket
    let number: Int
    let loop: ServerLoop
    let state: ServerState
    /// When ``advance()`` is to be called; `nil` while the script waits for the client or for a gate.
    var due: ContinuousClock.Instant?
    var script: Script?
    private var parser = RequestParser()
    /// The pieces that the socket has not accepted completely.
    private var unsent: ArraySlice<Payload.Piece> = []
    /// How much of the first one it has accepted.
    private var sentCount = 0
    private(set) var isClosed = false

    /// How much is received in one turn of the loop.
    private static let receptions = 16

    /// Creates a connection, and counts it.
    ///
    /// - Parameters:
    ///   - socket: The socket; the connection closes it.
    ///   - loop: The loop.
    ///   - state: The state of the server.
    init(_ socket: Socket, loop: ServerLoop, state: ServerState) {
        (self.socket, self.loop, self.state) = (socket, loop, state)
        number = state.openConnection()
    }

    /// Whether the socket has not accepted all bytes yet.
    var hasUnsent: Bool { !unsent.isEmpty }

    /// Receives and sends what is possible.
    func socketIsReady() {
        do {
            for _ in 0..<Self.receptions {
                guard !isClosed else { return }
                switch try socket.receive() {
                case .bytes(let bytes):
                    parser.append(bytes)
                    serveNext()
                case .ended: return end()
                case .nothing: return sendRest()
                }
            }
            sendRest()
        } catch {
            // A client that breaks the connection is not an error here: tests do so on purpose.
            end()
        }
    }

    /// Writes pieces; the script continues when the socket has accepted them all.
    ///
    /// - Parameter pieces: The pieces.
    func write(_ pieces: [Payload.Piece]) {
        unsent = pieces[...]
        sendRest()
    }

    /// Ends the script and closes the connection.
    ///
    /// - Parameter resets: Whether the end is a RST.
    func end(resets: Bool = false) {
        guard !isClosed else { return }
        isClosed = true
        (script, due, unsent) = (nil, nil, [])
        if resets { socket.reset() } else { socket.close() }
        state.closeConnection()
    }

    /// Ends the script of a request, and begins the next request unless the connection ends.
    ///
    /// - Parameter endsConnection: Whether it ends.
    func finish(endsConnection: Bool) {
        script = nil
        if endsConnection { end() } else { serveNext() }
    }

    private func sendRest() {
        guard !isClosed, let last = unsent.last else { return }
        do {
            while let piece = unsent.first {
                // An empty piece takes no call.
                while sentCount < piece.bytes.count {
                    let count = try socket.send(piece.bytes, from: sentCount)
                    if count == 0 { return }
                    sentCount += count
                }
                sentCount = 0
                unsent.removeFirst()
                // Each piece counts separately, so that the count is nearly exact when the client leaves.
                state.countBodyBytes(piece.payloadCount)
            }
            hasSent(last.payloadCount)
        } catch {
            end()
        }
    }

    /// Begins the next request, if there is one and none is being answered.
    private func serveNext() {
        guard script == nil, !isClosed else { return }
        switch parser.next() {
        case .incomplete:
            break
        case .tooLarge:
            end()
        case .malformed:
            start(Script(.status("400 Bad Request", fields: [("Connection", "close")]), endsConnection: true))
        case .request(let head):
            let (request, handler) = state.record(head, connection: number)
            start(Script(handler(request), endsConnection: request.endsConnection))
        }
    }
}
