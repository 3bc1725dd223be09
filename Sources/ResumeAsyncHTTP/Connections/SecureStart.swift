internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOSSL
internal import NIOTLS
internal import ResumeHTTP

/// Starts TLS, through a proxy's tunnel if there is one, and HTTP/2 if the server chooses it, on a connection that
/// async-http-client treats as plain HTTP/1.
///
/// The client's own HTTP/2 exposes a connection only after the server's first SETTINGS frame, and buffers everything
/// before it.
struct SecureStart: Sendable {
    let tls: NIOSSLContext
    /// The host of all URLs, for the server name indication.
    let host: String
    let tunnel: ProxyTunnel?
    let timeout: TimeAmount
    /// Whether the certificate must name the host.
    let isVerified: Bool

    /// Makes one for connections to the origin of a URL.
    init(to url: DownloadURL, by route: Route, tls: NIOSSLContext, timeout: TimeAmount, isVerified: Bool) {
        self.tls = tls
        host = url.host
        self.timeout = timeout
        self.isVerified = isVerified
        tunnel =
            if case .tunnel(let proxy) = route {
                ProxyTunnel(proxy: proxy, authority: "\(url.host):\(url.port)", timeout: timeout)
            } else {
                nil
            }
    }

    /// Requests the tunnel and performs the handshake.
    ///
    /// - Parameters:
    ///   - channel: A connection with async-http-client's HTTP/1 handlers.
    ///   - http1: Adds handlers if the server chooses HTTP/1.
    /// - Returns: A future that succeeds when a request can be sent.
    func install(
        on channel: any Channel, http1: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<Void> {
        let established = tunnel?.install(on: channel) ?? channel.eventLoop.makeSucceededVoidFuture()
        return established.flatMap { secure(channel, http1) }.flatMapError { error in
            channel.close(promise: nil)
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private func secure(
        _ channel: any Channel, _ http1: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void
    ) -> EventLoopFuture<Void> {
        // The proxy may have closed the connection after its response.
        guard channel.isActive else {
            return channel.eventLoop.makeFailedFuture(HTTPClientError.remoteConnectionClosed)
        }
        let promise = channel.eventLoop.makePromise(of: String?.self)
        let gate = HandshakeGate(promise)
        let timer = channel.eventLoop.scheduleTask(in: timeout) { promise.fail(HTTPClientError.tlsHandshakeTimeout) }
        do {
            let name: String? = if case .dns = ServerName(host: host) { host } else { nil }
            let handler = try NIOSSLClientHandler(context: tls, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers([handler, gate], position: .first)
        } catch {
            promise.fail(error)
        }
        return promise.futureResult.assumeIsolated().flatMap { negotiated -> EventLoopFuture<Void> in
            let pipeline = channel.pipeline.syncOperations
            switch negotiated {
            case "h2": return useHTTP2(in: pipeline, after: gate, on: channel.eventLoop)
            case nil, "http/1.1": return channel.eventLoop.makeCompletedFuture { try http1(pipeline) }
            case let other?:
                return channel.eventLoop.makeFailedFuture(
                    HTTPClientError.serverOfferedUnsupportedApplicationProtocol(other))
            }
        }.flatMap { channel.pipeline.syncOperations.removeHandler(gate) }.nonisolated().always { _ in timer.cancel() }
    }

    /// Replaces the HTTP/1 handlers between the gate and the client's own.
    private func useHTTP2(
        in pipeline: ChannelPipeline.SynchronousOperations, after gate: HandshakeGate, on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        do {
            let encoder = try pipeline.handler(type: HTTPRequestEncoder.self)
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            return pipeline.removeHandler(encoder).assumeIsolated().flatMap { pipeline.removeHandler(decoder) }
                .flatMapThrowing {
                    let frames = FrameGuard()
                    let parser = NIOHTTP2Handler(mode: .client, initialSettings: FrameTranslator.settings)
                    var handlers: [any ChannelHandler] = [
                        ByteGuard(frames), parser, frames, FrameTranslator(), AnswerGuard(nil),
                    ]
                    if isVerified { handlers.append(IdentityGuard(try PeerIdentity(in: pipeline))) }
                    try pipeline.add(handlers, .after(gate))
                }.nonisolated()
        } catch {
            return loop.makeFailedFuture(error)
        }
    }
}

extension ChannelPipeline.SynchronousOperations {
    /// Adds handlers from the first to the last, since each may write as soon as it is added.
    func add(_ handlers: [any ChannelHandler], _ position: Position) throws {
        var position = position
        for handler in handlers {
            try addHandler(handler, position: position)
            position = .after(handler)
        }
    }
}

/// Waits for the end of a handshake, and holds back bytes until their handlers have been added.
final class HandshakeGate: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private let promise: EventLoopPromise<String?>
    private var isComplete = false
    private var held: [NIOAny] = []

    init(_ promise: EventLoopPromise<String?>) {
        self.promise = promise
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        isComplete = true
        promise.succeed(negotiated)
    }

    func read(context: ChannelHandlerContext) {
        if !isComplete { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        promise.fail(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.fail(HTTPClientError.remoteConnectionClosed)
        context.fireChannelInactive()
    }

    func removeHandler(context: ChannelHandlerContext, removalToken: ChannelHandlerContext.RemovalToken) {
        for bytes in held { context.fireChannelRead(bytes) }
        context.fireChannelReadComplete()
        // Replaces the reads that were held back.
        context.read()
        context.leavePipeline(removalToken: removalToken)
    }
}
