internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import ResumeDownload

/// Ends an HTTP/2 stream whose response has no valid status, or interim responses without an end, or whose request is for
/// another host than the certificate names.
///
/// It stands before the translation to HTTP/1, which ends the program at a status below 0, as async-http-client does at
/// one that it takes for an interim response and that a body follows.
final class StreamGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let connection: FrameGuard
    private var interim = 0
    private var stream: HTTP2StreamID?
    /// Why the request is not sent.
    private var refusal: TransportError?

    init(_ connection: FrameGuard) {
        self.connection = connection
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .headers(let frame) = unwrapOutboundIn(data), refusal == nil {
            refusal = connection.identity.problem(with: frame.headers.first(name: ":authority"))
            if let refusal { context.refuse(refusal) }
        }
        guard let refusal else { return context.write(data, promise: promise) }
        promise?.fail(refusal)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let frame):
            if let problem = problem(with: frame.headers) {
                context.fireErrorCaught(TransportError(.invalidResponse, problem))
                return context.close(promise: nil)
            }
        case .data:
            if stream == nil {
                stream = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
            }
            if let stream { connection.consumed(from: stream) }
        default: break
        }
        context.fireChannelRead(data)
    }

    /// The request fails with the reason why the connection was ended, rather than that it was.
    func channelInactive(context: ChannelHandlerContext) {
        if let failure = connection.failure { context.fireErrorCaught(failure) }
        context.fireChannelInactive()
    }

    private func problem(with headers: HPACKHeaders) -> String? {
        // Trailers have none.
        guard let text = headers.first(name: ":status") else { return nil }
        // 101 has no meaning in HTTP/2 (RFC 9113, 8.6).
        guard text.utf8.count == 3, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(text),
            status >= 100, status != 101
        else { return "the status code is not valid" }
        interim = status < 200 ? interim + 1 : 0
        guard interim <= AnswerGuard.limit else { return AnswerGuard.tooMany }
        return nil
    }
}
