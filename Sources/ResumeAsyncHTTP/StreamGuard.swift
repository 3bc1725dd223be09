internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import ResumeDownload

/// Ends an HTTP/2 stream whose answer has no status, or interim answers without an end.
///
/// It stands before the translation to HTTP/1, which ends the program at a status below 0, as async-http-client does at
/// one that it takes for an interim answer and that a body follows.
final class StreamGuard: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private var interim = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .headers(let frame) = unwrapInboundIn(data), let problem = problem(with: frame.headers) {
            context.fireErrorCaught(TransportError(.invalidResponse, problem))
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
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
