internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP1
internal import NIOHTTP2
internal import ResumeDownload

/// Sends requests without bodies and receives responses over HTTP/2, one at a time, for an HTTP/1 client.
///
/// With one stream per connection, back-pressure reaches the socket as with HTTP/1: while the reader is busy, no
/// frames are received. So window updates can be sent as soon as bytes are passed on.
final class FrameTranslator: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTPClientResponsePart
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTP2Frame

    /// How many bytes of bodies a server may send before it waits for a WINDOW_UPDATE frame.
    private static let window = 8 << 20
    /// The window of a connection before the first WINDOW_UPDATE frame (RFC 9113, 6.9.2).
    private static let initialWindow = 65_535

    /// The settings sent to the server: no server push, header blocks of up to 64 KiB, and the window.
    static let settings: HTTP2Settings = [
        HTTP2Setting(parameter: .enablePush, value: 0), HTTP2Setting(parameter: .maxHeaderListSize, value: 64 << 10),
        HTTP2Setting(parameter: .initialWindowSize, value: window),
    ]

    private var request: HTTPRequestHead?
    private var nextStream = 1
    /// The stream of the response that is being received.
    private var stream: HTTP2StreamID?
    private var hasHead = false
    /// The bytes of bodies received since the last WINDOW_UPDATE frames.
    private var received = 0
    private var isGoingAway = false

    func handlerAdded(context: ChannelHandlerContext) {
        update(.rootStream, by: Self.window - Self.initialWindow, context)
        context.flush()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            request = head
            promise?.succeed(())
        case .body: promise?.fail(ChannelError.operationUnsupported)
        case .end:
            guard let head = request.take() else {
                promise?.fail(ChannelError.inappropriateOperationForState)
                return
            }
            let stream = HTTP2StreamID(nextStream)
            nextStream += 2
            self.stream = stream
            hasHead = false
            let headers = HTTP2Frame.FramePayload.Headers(headers: HPACKHeaders(head), endStream: true)
            context.write(wrapOutboundOut(HTTP2Frame(streamID: stream, payload: .headers(headers))), promise: promise)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        if case .goAway(let last, _, _) = frame.payload { return goAway(after: last, context) }
        guard let stream, frame.streamID == stream else { return }
        switch frame.payload {
        case .headers(let frame) where hasHead:
            // Trailers.
            if frame.endStream { finish(context) }
        case .headers(let frame): receive(frame, context)
        case .data(let frame):
            received += frame.data.readableBytes + (frame.paddingBytes.map { $0 + 1 } ?? 0)
            if received >= Self.window / 2 {
                update(.rootStream, by: received, context)
                if !frame.endStream { update(stream, by: received, context) }
                context.flush()
                received = 0
            }
            if case .byteBuffer(let bytes) = frame.data, bytes.readableBytes > 0 {
                context.fireChannelRead(wrapInboundOut(.body(bytes)))
            }
            if frame.endStream { finish(context) }
        case .rstStream(let code):
            self.stream = nil
            refuse(NIOHTTP2Errors.streamClosed(streamID: stream, errorCode: code), context)
        default: break
        }
    }

    private func receive(_ frame: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext) {
        let text = frame.headers.first(name: ":status") ?? ""
        // 101 has no meaning in HTTP/2 (RFC 9113, 8.6).
        guard text.utf8.count == 3, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let status = Int(text),
            status >= 100, status != 101
        else { return refuse(TransportError(.invalidResponse, "the status code is not valid"), context) }
        let fields = frame.headers.filter { !$0.name.hasPrefix(":") }.map { ($0.name, $0.value) }
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: HTTPHeaders(fields))
        hasHead = status >= 200
        context.fireChannelRead(wrapInboundOut(.head(head)))
        if frame.endStream { finish(context) }
    }

    private func finish(_ context: ChannelHandlerContext) {
        stream = nil
        // Read now, since the client may send its next request during the call.
        let closes = isGoingAway
        context.fireChannelRead(wrapInboundOut(.end(nil)))
        if closes { context.close(promise: nil) }
    }

    /// Handles a GOAWAY frame: the server accepts no new requests and ignores streams after the last one.
    private func goAway(after last: HTTP2StreamID, _ context: ChannelHandlerContext) {
        isGoingAway = true
        guard let stream, stream <= last else { return context.close(promise: nil) }
    }

    private func update(_ stream: HTTP2StreamID, by increment: Int, _ context: ChannelHandlerContext) {
        let frame = HTTP2Frame(streamID: stream, payload: .windowUpdate(windowSizeIncrement: increment))
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    private func refuse(_ error: any Error, _ context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}

extension HPACKHeaders {
    /// The header block of a request (RFC 9113, 8.3.1 and 8.2.2).
    fileprivate init(_ head: HTTPRequestHead) {
        self.init([
            (":method", head.method.rawValue), (":scheme", "https"), (":path", head.uri),
            (":authority", head.headers.first(name: "Host") ?? ""),
        ])
        let ofConnection: Set = [
            "host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
        ]
        for (name, value) in head.headers where !ofConnection.contains(name.lowercased()) {
            add(name: name.lowercased(), value: value)
        }
    }
}
