internal import NIOCore
internal import NIOSSL

/// Keeps what arrived before the server ended a connection until the client takes it.
///
/// At the end of a connection, SwiftNIO reads all that is left in the socket, whether or not it was asked for, and closes the
/// channel at once; the client then drops what nobody has taken by that time, which can be megabytes. So this handler, the
/// first one of a connection, hands over what is asked for, and the end only after the last byte.
final class ArrivalGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What arrived and was not asked for: what the system holds for a socket, which may be tens of megabytes.
    private var held: CircularBuffer<ByteBuffer> = []
    /// Whether bytes were asked for since some were handed over; at first somebody may have asked.
    private var isAwaited = true
    /// Whether bytes were handed over that were asked for, and the turn is not over.
    private var isHandingOver = false
    /// Whether the server has ended the connection.
    private var hasEnded = false
    private var isScheduled = false
    private var isClosed = false

    /// Adds the gate in front of all other handlers.
    ///
    /// - Throws: Where the connection is closed already.
    static func install(on channel: any Channel) throws {
        // So that the end is told, and does not close the channel.
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(ArrivalGate(), position: .first)
        if let tls = try? pipeline.handler(type: NIOSSLHandler.self) {
            try pipeline.addHandler(SecureEnd(), position: .after(tls))
        }
    }

    func read(context: ChannelHandlerContext) {
        isAwaited = true
        if !held.isEmpty || hasEnded { schedule(context) } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isAwaited, held.isEmpty else { return held.append(unwrapInboundIn(data)) }
        isHandingOver = true
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard isHandingOver else { return }
        (isHandingOver, isAwaited) = (false, false)
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        hasEnded = true
        if isAwaited { schedule(context) }
    }

    /// Nobody would receive it any more, and the attempt would end the connection before all is handed over.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if hasEnded { promise?.succeed() } else { context.write(data, promise: promise) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        handOverAll(context)
        context.fireErrorCaught(error)
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        handOverAll(context)
        context.fireChannelInactive()
    }

    /// Hands over as soon as who asks has ended its turn: it must not be called while it calls.
    private func schedule(_ context: ChannelHandlerContext) {
        guard !isScheduled else { return }
        isScheduled = true
        context.eventLoop.assumeIsolated().execute { self.handOver(context) }
    }

    private func handOver(_ context: ChannelHandlerContext) {
        isScheduled = false
        guard isAwaited, !isClosed else { return }
        guard let bytes = held.popFirst() else { return hasEnded ? context.close(promise: nil) : context.read() }
        isAwaited = false
        context.fireChannelRead(wrapInboundOut(bytes))
        context.fireChannelReadComplete()
        // As a channel does after each turn; the client lets it pass where it wants more.
        if !isClosed { context.pipeline.syncOperations.read() }
    }

    /// The connection is gone, and with it every other chance.
    private func handOverAll(_ context: ChannelHandlerContext) {
        while let bytes = held.popFirst() {
            context.fireChannelRead(wrapInboundOut(bytes))
            context.fireChannelReadComplete()
        }
    }
}

/// Closes a connection whose server has announced the end of TLS, as soon as the client asks for more.
///
/// SwiftNIO's handler of TLS would leave it half-closed.
private final class SecureEnd: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    private var isAwaited = true
    private var hasEnded = false

    func read(context: ChannelHandlerContext) {
        isAwaited = true
        if hasEnded { close(context) } else { context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isAwaited = false
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        hasEnded = true
        if isAwaited { close(context) }
    }

    private func close(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute { context.close(promise: nil) }
    }
}
