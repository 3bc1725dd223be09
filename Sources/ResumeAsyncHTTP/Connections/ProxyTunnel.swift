internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1

/// Requests a tunnel from a proxy (RFC 9110, 9.3.6) on a connection that async-http-client treats as one to the origin.
///
/// The client's own tunnels are requested before a handler can be added, and buffer whatever a proxy sends in place of
/// a field's value.
struct ProxyTunnel: Sendable {
    let proxy: ProxyServer
    /// The host and port of the origin.
    let authority: String
    let timeout: TimeAmount

    /// Requests the tunnel.
    ///
    /// - Returns: A future that succeeds when the connection leads to the origin.
    func install(on channel: any Channel) -> EventLoopFuture<Void> {
        let established = channel.eventLoop.makePromise(of: Void.self)
        let timer = channel.eventLoop.scheduleTask(in: timeout) {
            established.fail(HTTPClientError.httpProxyHandshakeTimeout)
        }
        let parser = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes))
        let handlers: [any ChannelHandler & RemovableChannelHandler] = [
            HTTPRequestEncoder(), ParserGuard(), parser, TunnelRequest(head, established),
        ]
        do {
            try channel.pipeline.syncOperations.add(handlers, .first)
        } catch {
            established.fail(error)
        }
        return established.futureResult.assumeIsolated().flatMap {
            let pipeline = channel.pipeline.syncOperations
            return EventLoopFuture.andAllSucceed(handlers.map(pipeline.removeHandler), on: channel.eventLoop)
        }.nonisolated().always { _ in timer.cancel() }
    }

    private var head: HTTPRequestHead {
        var head = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: authority)
        head.headers.add(name: "Host", value: authority)
        if let authorization = proxy.authorization {
            head.headers.add(name: "Proxy-Authorization", value: authorization)
        }
        return head
    }
}

/// Sends a CONNECT request and waits for the end of the response's head.
private final class TunnelRequest: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let head: HTTPRequestHead
    private let established: EventLoopPromise<Void>

    init(_ head: HTTPRequestHead, _ established: EventLoopPromise<Void>) {
        self.head = head
        self.established = established
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head) where (200..<300).contains(head.status.code): break
        case .head(let head) where head.status == .proxyAuthenticationRequired:
            established.fail(HTTPClientError.proxyAuthenticationRequired)
        case .head, .body: established.fail(HTTPClientError.invalidProxyResponse)
        case .end: established.succeed()
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        established.fail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        established.fail(HTTPClientError.remoteConnectionClosed)
        context.fireChannelInactive()
    }
}
