internal import NIOCore
internal import NIOHTTP2
internal import NIOSSL
internal import ResumeDownload

/// Ends an HTTP/2 connection on which the peer breaks the rules or floods the client, and holds back its bytes while much
/// is not read yet.
///
/// NIO limits header blocks, CONTINUATION and control frames and reports what exceeds that, but leaves the connection
/// open, and then keeps all further bytes in memory. async-http-client ignores the report. Padding is counted by nobody,
/// and a frame of one byte takes as much memory as one of hundreds.
final class FrameGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame
    typealias OutboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    /// How many bytes may come beyond twice those of header blocks and bodies: padding, control and unknown frames.
    private static let limit = 3 << 20
    /// Each frame has a head of so many bytes.
    private static let headLength = 9
    /// How many frames of bodies may wait to be read: a few MiB of memory if they are small, and several windows of 8 MiB
    /// if they have the usual size of 16 KiB.
    private static let mostUnread = 8192

    let identity: PeerIdentity
    /// Why the connection was ended.
    private(set) var failure: TransportError?
    private var count = 0
    private var unread: [HTTP2StreamID: Int] = [:]
    private var allUnread = 0
    private var context: ChannelHandlerContext?
    private var isHeld = false

    private init(_ identity: PeerIdentity) {
        self.identity = identity
    }

    /// Puts a guard on both sides of a connection's parser.
    ///
    /// - Throws: If it is no connection of HTTP/2 over TLS.
    static func install(in pipeline: ChannelPipeline.SynchronousOperations) throws {
        let parser = try pipeline.handler(type: NIOHTTP2Handler.self)
        let guardian = FrameGuard(try PeerIdentity(in: pipeline))
        try pipeline.addHandler(ByteGuard(guardian), position: .before(parser))
        try pipeline.addHandler(guardian, position: .after(parser))
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Counts bytes before they are parsed.
    ///
    /// - Returns: Whether they may be parsed.
    fileprivate func receives(_ bytes: Int) -> Bool {
        count += bytes
        if count > Self.limit {
            let megabytes = Self.limit >> 20
            fail("received \(megabytes) MiB of HTTP/2 frames and padding that are neither header nor body")
        }
        return failure == nil
    }

    /// Tells that a stream has taken a frame of its body.
    func consumed(from stream: HTTP2StreamID) {
        guard let own = unread[stream], own > 0 else { return }
        unread[stream] = own - 1
        release(1)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers: count = 0
        case .data(let data):
            count -= min(count, 2 * (data.data.readableBytes + Self.headLength))
            unread[frame.streamID, default: 0] += 1
            allUnread += 1
        default: break
        }
        context.fireChannelRead(data)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if let event = event as? StreamClosedEvent, let rest = unread.removeValue(forKey: event.streamID) {
            release(rest)
        }
    }

    func read(context: ChannelHandlerContext) {
        isHeld = allUnread >= Self.mostUnread
        if !isHeld { context.read() }
    }

    private func release(_ frames: Int) {
        allUnread -= frames
        guard isHeld, allUnread < Self.mostUnread / 2 else { return }
        isHeld = false
        context?.read()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        // These concern a request that came too late, or one stream: the others go on.
        case is NIOHTTP2Errors.CreatedStreamAfterGoaway, is NIOHTTP2Errors.IOOnClosedConnection,
            is NIOHTTP2Errors.NoStreamIDAvailable, is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.NoSuchStream:
            break
        case is any NIOHTTP2Error: fail("the server broke a rule of HTTP/2 (\(type(of: error)))")
        default: break
        }
        context.fireErrorCaught(error)
    }

    /// Closes the connection at once: a shutdown of TLS would go on receiving.
    private func fail(_ message: String) {
        guard failure == nil else { return }
        failure = TransportError(.invalidResponse, message)
        guard let pipeline = context?.pipeline.syncOperations else { return }
        let tls = try? pipeline.context(handlerType: NIOSSLHandler.self)
        (tls ?? context)?.close(promise: nil)
    }
}

/// Counts the bytes of a connection of HTTP/2 before they are parsed.
private final class ByteGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let frames: FrameGuard

    init(_ frames: FrameGuard) {
        self.frames = frames
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if frames.receives(unwrapInboundIn(data).readableBytes) { context.fireChannelRead(data) }
    }
}
