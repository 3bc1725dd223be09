import NIOCore

/// Serves one connection: handles its requests one after the other and runs the script of each.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let state: ServerState
    private var connection = 0
    private var parser = RequestParser()
    private var script: ScriptRunner?
    private var isEnding = false

    /// Creates the handler of a connection.
    ///
    /// - Parameter state: The state of the server.
    init(state: ServerState) {
        self.state = state
    }

    func channelActive(context: ChannelHandlerContext) {
        connection = state.openConnection()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        state.closeConnection()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        var bytes = unwrapInboundIn(data)
        parser.append(&bytes)
        serveNext(on: context.channel)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A client that breaks the connection is not an error here: tests do so on purpose.
        end()
        context.close(promise: nil)
    }

    /// Begins the next request, if there is one and none is being answered.
    ///
    /// - Parameter channel: The channel of the connection.
    private func serveNext(on channel: any Channel) {
        guard script == nil, !isEnding else { return }
        switch parser.next() {
        case .incomplete:
            break
        case .tooLarge:
            end()
            channel.close(promise: nil)
        case .malformed:
            run(.status("400 Bad Request", fields: [("Connection", "close")]), on: channel, endsConnection: true)
        case .request(let head):
            let (request, handler) = state.record(head, connection: connection)
            run(handler(request), on: channel, endsConnection: request.endsConnection)
        }
    }

    /// Runs the script of a response.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - channel: The channel of the connection.
    ///   - endsConnection: Whether the connection ends after the script.
    private func run(_ response: Response, on channel: any Channel, endsConnection: Bool) {
        let script = ScriptRunner(response, on: channel, state: state) { [unowned self] in
            // The runner is owned by this handler and released with it, so `self` is alive here.
            self.script = nil
            if endsConnection {
                end()
                channel.close(promise: nil)
            } else {
                serveNext(on: channel)
            }
        }
        self.script = script
        script.run()
    }

    /// Stops the script and accepts no more requests.
    private func end() {
        isEnding = true
        script?.stop()
        script = nil
    }
}
