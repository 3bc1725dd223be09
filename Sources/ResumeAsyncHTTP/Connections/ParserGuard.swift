internal import NIOCore
internal import NIOHTTP1
internal import ResumeDownload

/// Ends a connection on which much comes that is no part of an answer.
///
/// NIO's parser bounds names and values of fields, but not the space before a value, which it keeps in memory as long as
/// it comes, nor reason phrases, empty lines before a head and extensions of chunks, which it passes over for ever. So
/// the bytes that go into the parser are counted, and the count begins anew with whatever comes out of it.
final class ParserGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = NIOAny

    /// More than the longest head that the parser takes, which is of 2 MiB.
    private static let limit = 3 << 20

    /// Bytes since the parser made something of them.
    fileprivate var count = 0

    /// Puts a guard on both sides of a connection's parser.
    ///
    /// - Returns: The parser.
    /// - Throws: Where the connection has none.
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
        count += unwrapInboundIn(data).readableBytes
        guard count <= Self.limit else {
            let megabytes = Self.limit >> 20
            context.fireErrorCaught(
                TransportError(
                    .invalidResponse,
                    "received \(megabytes) MiB of data that is neither header nor body"))
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
    }

    /// What was received before a request is no answer to it.
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard count > 0 else { return context.write(data, promise: promise) }
        let error = TransportError(.connectionClosed, "received data before the request")
        promise?.fail(error)
        context.fireErrorCaught(error)
        context.close(promise: nil)
    }
}

/// Sees what the parser makes, and ends a connection that brings interim answers (1xx) without an end, or a status that
/// is none: async-http-client takes one below 100 for an interim answer, and ends the program when a body follows.
///
/// It makes one part of many small ones that a turn brings of a body: a part of one byte costs the client as much as a large
/// one.
final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// How many interim answers may come before the answer; servers send one or two.
    static let limit = 100
    /// In bytes; a longer part is never copied.
    private static let longestGathered = 128 << 10
    static let tooMany = "more than \(limit) interim responses (1xx)"

    private let parser: ParserGuard?
    private var interim = 0
    /// What this turn has brought of a body.
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
            if interim > Self.limit {
                return refuse(Self.tooMany, context)
            }
            if head.status.code < 100 {
                return refuse("the status code is \(head.status.code)", context)
            }
        }
        context.fireChannelRead(data)
    }

    /// The client drops what came in the same turn as an error, unless it is told that the turn is over.
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

    private func refuse(_ message: String, _ context: ChannelHandlerContext) {
        context.fireErrorCaught(TransportError(.invalidResponse, message))
        context.close(promise: nil)
    }
}
