internal import NIOCore
internal import NIOHTTP1
internal import ResumeDownload

/// Closes a connection that receives much data outside of responses.
///
/// NIO's parser limits names and values of fields, but not white space before a value, which it buffers, nor reason
/// phrases, empty lines before a head and chunk extensions, which it skips without a limit. So the bytes that enter the
/// parser are counted, and the count restarts whenever the parser produces something.
final class ParserGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = NIOAny

    /// More than the longest head that the parser accepts, which is 2 MiB.
    private static let limit = 3 << 20

    /// The bytes received since the parser last produced something.
    fileprivate var count = 0
    /// The reason phrase of an error's head; NIO replaces it by that of the standard.
    fileprivate var phrase: String?

    /// Adds guards on both sides of a connection's parser.
    ///
    /// - Returns: The parser.
    /// - Throws: If the connection has none.
    static func install(
        in pipeline: ChannelPipeline.SynchronousOperations
    ) throws -> ByteToMessageHandler<HTTPResponseDecoder> {
        let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        let guardian = ParserGuard()
        try pipeline.addHandler(guardian, position: .before(parser))
        try pipeline.addHandler(AnswerGuard(guardian), position: .after(parser))
        return parser
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        let start = buffer.readableBytesView.prefix(512)
        if count == 0, start.starts(with: "HTTP/".utf8) {
            let words = start.prefix { $0 != 0x0D && $0 != 0x0A }.split(separator: 0x20, maxSplits: 2)
            phrase = words.count == 3 ? String(decoding: words[2], as: UTF8.self) : nil
        }
        count += buffer.readableBytes
        guard count <= Self.limit else {
            return context.fail("received \(Self.limit >> 20) MiB of data that is neither header nor body")
        }
        context.fireChannelRead(data)
    }

    /// Fails if data was received before the request, since it cannot be a response to it.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard count > 0 else { return context.write(data, promise: promise) }
        let error = TransportError(.connectionClosed, "received data before the request")
        promise?.fail(error)
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}

/// Inspects the output of the parser, and closes a connection that receives endless interim responses (1xx) or an
/// invalid status code.
///
/// async-http-client takes a status below 100 for an interim response, and traps when a body follows. Small parts of a
/// body that arrive in one turn are merged, since each part costs the client the same, however small it is.
final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// How many interim responses are accepted before the final one; servers send one or two.
    static let limit = 100
    /// The maximum length of merged parts, in bytes; longer parts are never copied.
    private static let longestGathered = 128 << 10

    private let parser: ParserGuard?
    private var interim = 0
    /// The part of a body received in this turn.
    private var body: ByteBuffer?

    init(_ parser: ParserGuard?) {
        self.parser = parser
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parser?.count = 0
        let part = unwrapInboundIn(data)
        if case .body(var bytes) = part {
            if let body, body.readableBytes + bytes.readableBytes > Self.longestGathered { handOver(context) }
            if body?.writeBuffer(&bytes) == nil { body = bytes }
            return
        }
        handOver(context)
        if case .head(let head) = part {
            interim = (100..<200).contains(head.status.code) ? interim + 1 : 0
            if interim > Self.limit { return context.fail("more than \(Self.limit) interim responses (1xx)") }
            if head.status.code < 100 { return context.fail("the status code is \(head.status.code)") }
            if head.status.code >= 400, let phrase = parser?.phrase {
                var head = head
                head.status = .custom(code: head.status.code, reasonPhrase: phrase)
                return context.fireChannelRead(wrapInboundOut(.head(head)))
            }
        }
        context.fireChannelRead(data)
    }

    /// Completes the read first, since the client drops parts that arrive in the same turn as an error.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        channelReadComplete(context: context)
        context.fireErrorCaught(error)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        handOver(context)
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        handOver(context)
        context.fireChannelInactive()
    }

    private func handOver(_ context: ChannelHandlerContext) {
        if let body = body.take() { context.fireChannelRead(wrapInboundOut(.body(body))) }
    }
}

extension ChannelHandlerContext {
    /// Closes the connection because of an invalid response.
    fileprivate func fail(_ message: String) {
        fireErrorCaught(TransportError(.invalidResponse, message))
        close(promise: nil)
    }
}
