internal import NIOCore
internal import NIOHTTP2
internal import NIOSSL
internal import ResumeDownload

/// Closes an HTTP/2 connection on which the peer violates the protocol or sends much data outside of responses.
///
/// NIO limits header blocks, CONTINUATION and control frames and reports when they are exceeded, but leaves the
/// connection open and then buffers all further bytes. Padding, window updates and unknown frames are not limited.
final class FrameGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    /// How many bytes may be received beyond twice those of header blocks and bodies: padding, control and unknown
    /// frames.
    private static let limit = 3 << 20
    /// The length of a frame's header.
    private static let headLength = 9

    private var count = 0
    private var hasFailed = false
    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Counts bytes before they are parsed.
    ///
    /// - Returns: Whether they may be parsed.
    fileprivate func receives(_ bytes: Int) -> Bool {
        count += bytes
        if count > Self.limit {
            fail("received \(Self.limit >> 20) MiB of HTTP/2 frames and padding that are neither header nor body")
        }
        return !hasFailed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data).payload {
        case .headers: count = 0
        case .data(let data): count -= min(count, 2 * (data.data.readableBytes + Self.headLength))
        default: break
        }
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is any NIOHTTP2Error: fail("the server broke a rule of HTTP/2 (\(type(of: error)))")
        // A frame for a stream that has ended.
        case is NIOHTTP2Errors.StreamError: break
        default: context.fireErrorCaught(error)
        }
    }

    /// Closes the connection at once, since a TLS shutdown would continue to receive.
    private func fail(_ message: String) {
        guard !hasFailed, let context else { return }
        hasFailed = true
        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLHandler.self)
        // Bytes received before the error still belong to the body.
        context.fireChannelReadComplete()
        context.fireErrorCaught(TransportError(.invalidResponse, message))
        (tls ?? context).close(promise: nil)
    }
}

/// Counts the bytes of an HTTP/2 connection before they are parsed.
final class ByteGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let frames: FrameGuard

    init(_ frames: FrameGuard) {
        self.frames = frames
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if frames.receives(unwrapInboundIn(data).readableBytes) { context.fireChannelRead(data) }
    }
}
