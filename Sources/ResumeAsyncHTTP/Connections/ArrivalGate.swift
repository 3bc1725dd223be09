internal import NIOCore
internal import NIOSSL

/// Keeps bytes that arrived before the server closed a connection until the client reads them.
///
/// At the end of a connection, SwiftNIO reads everything that is left in the socket, requested or not, and closes the
/// channel at once. The client then drops the bytes that it has not read yet, which can be megabytes. So this handler,
/// the first one of a connection, passes bytes on when they are requested, and the end only after the last byte.
final class ArrivalGate: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    /// Bytes that arrived unrequested: as much as the system buffers for a socket, which may be tens of megabytes.
    private var held: CircularBuffer<NIOAny> = []
    /// Whether there is an unanswered read request; initially true, since there may have been one before.
    private var isAwaited = true
    /// Whether requested bytes have been passed on and the read has not completed.
    private var isHandingOver = false
    /// Whether the server has closed the connection.
    private var hasEnded = false
    private var isScheduled = false
    private var isClosed = false

    /// Adds the gate in front of all other handlers.
    ///
    /// - Throws: If the connection is already closed.
    static func install(on channel: any Channel) throws {
        // Reports the end as an event instead of closing the channel.
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
        guard isAwaited, held.isEmpty else { return held.append(data) }
        isHandingOver = true
        context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard isHandingOver else { return }
        isHandingOver = false
        isAwaited = false
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        hasEnded = true
        if isAwaited { schedule(context) }
    }

    /// Drops writes after the end: the server would not receive them, and they would close the connection before all
    /// bytes have been passed on.
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

    /// Passes bytes on after the current call has returned, since the handlers are not reentrant.
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
        context.fireChannelRead(bytes)
        context.fireChannelReadComplete()
        // A channel requests more after each read, too; the client lets that pass if it wants more.
        if !isClosed { context.pipeline.syncOperations.read() }
    }

    /// Passes on all bytes, since the connection is closed and there is no later opportunity.
    private func handOverAll(_ context: ChannelHandlerContext) {
        while let bytes = held.popFirst() {
            context.fireChannelRead(bytes)
            context.fireChannelReadComplete()
        }
    }
}

/// Closes a connection when the client reads after the server has ended TLS.
///
/// SwiftNIO's TLS handler would leave it half-closed.
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
