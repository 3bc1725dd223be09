internal import NIOCore
internal import NIOHTTP1
internal import ResumeDownload

/// Ends a connection on which much comes that is no part of an answer.
///
/// NIO's parser bounds names and values of fields, but not the space before a value, which it keeps in memory as long as
/// it comes, nor reason phrases, empty lines before a head and extensions of chunks, which it passes over for ever. So
/// the bytes that go into the parser are counted, and the count begins anew with whatever comes out of it.
final class ParserGuard: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

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
}

/// Sees what the parser makes, and ends a connection that brings interim answers (1xx) without an end, or a status that
/// is none: async-http-client takes one below 100 for an interim answer, and ends the program when a body follows.
final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    /// How many interim answers may come before the answer; servers send one or two.
    static let limit = 100
    static let tooMany = "more than \(limit) interim responses (1xx)"

    private let parser: ParserGuard?
    private var interim = 0

    init(_ parser: ParserGuard?) {
        self.parser = parser
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        parser?.count = 0
        if case .head(let head) = unwrapInboundIn(data) {
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
        context.fireChannelReadComplete()
        context.fireErrorCaught(error)
    }

    private func refuse(_ message: String, _ context: ChannelHandlerContext) {
        context.fireErrorCaught(TransportError(.invalidResponse, message))
        context.close(promise: nil)
    }
}
