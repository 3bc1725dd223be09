import Foundation
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import ResumeAsyncHTTP
import ResumeDownload

/// An HTTP/2 server over TLS that passes each request on to an HTTP/1 origin on this machine.
///
/// The first component of a path is the origin's port. A response that is not valid HTTP/1, or that ends early, becomes
/// a stream reset. Nothing else is checked or changed.
final class HTTP2Gateway: Sendable {
    /// A key and a certificate for 127.0.0.1, made only for this gateway, valid until 2049.
    static let certificate = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("gateway.pem").path

    let port: Int
    private let group: MultiThreadedEventLoopGroup

    /// Runs a body with a gateway.
    static func with<Result>(_ body: (HTTP2Gateway) async throws -> Result) async throws -> Result {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let result = try await body(HTTP2Gateway(group))
            try await group.shutdownGracefully()
            return result
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
    }

    private init(_ group: MultiThreadedEventLoopGroup) async throws {
        self.group = group
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(Self.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: Self.certificate, format: .pem)))
        settings.applicationProtocols = ["h2"]
        let tls = try NIOSSLContext(configuration: settings)
        let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try pipeline.addHandler(NIOSSLServerHandler(context: tls))
                try pipeline.addHandler(
                    NIOHTTP2Handler(
                        mode: .server, headerBlockValidation: .disabled, contentLengthValidation: .disabled))
                try pipeline.addHandler(
                    HTTP2StreamMultiplexer(mode: .server, channel: channel) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandlers(
                                HTTP2FramePayloadToHTTP1ServerCodec(), GatewayRequest())
                        }
                    })
            }
        }
        let listener = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        port = listener.localAddress?.port ?? 0
    }
}

/// A transport whose requests go through a gateway.
///
/// Callers see the URLs of the origin.
struct GatewayTransport: Transport {
    let transport: AsyncHTTPTransport
    let port: Int

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        var wrapped = request
        let origin = request.authority?.split(separator: ":").last ?? ""
        wrapped.scheme = "https"
        wrapped.authority = "127.0.0.1:\(port)"
        wrapped.path = "/\(origin)\(request.path ?? "/")"
        return try await transport.send(wrapped)
    }
}

/// One stream of a gateway.
///
/// Passes its request on to the origin.
private final class GatewayRequest: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private var head: HTTPRequestHead?
    private var origin: (any Channel)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end: connect(context)
        }
    }

    private func connect(_ context: ChannelHandlerContext) {
        let parts = head?.uri.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true) ?? []
        guard var head, let port = parts.first.flatMap({ Int($0) }) else { return context.close(promise: nil) }
        head.version = .http1_1
        head.uri = "/" + (parts.count > 1 ? String(parts[1]) : "")
        head.headers.replaceOrAdd(name: "Host", value: "127.0.0.1:\(port)")
        head.headers.remove(name: "content-length")
        let (request, stream) = (head, context.channel)
        ClientBootstrap(group: context.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { origin in
                origin.eventLoop.makeCompletedFuture {
                    try origin.pipeline.syncOperations.addHandlers(
                        HTTPRequestEncoder(),
                        ByteToMessageHandler(
                            HTTPResponseDecoder(
                                leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .forward)),
                        GatewayResponse(stream))
                }
            }
            .connect(host: "127.0.0.1", port: port).assumeIsolated().whenComplete { result in
                guard case .success(let origin) = result, stream.isActive else {
                    if case .success(let origin) = result { origin.close(promise: nil) }
                    return stream.close(promise: nil)
                }
                self.origin = origin
                origin.write(HTTPClientRequestPart.head(request), promise: nil)
                origin.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            }
    }

    func channelInactive(context: ChannelHandlerContext) {
        origin?.close(promise: nil)
        context.fireChannelInactive()
    }
}

/// A connection of a gateway to an origin.
///
/// Passes the response on to the stream, and reads on once the stream has accepted it, so that an endless body uses no
/// memory.
private final class GatewayResponse: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let stream: any Channel
    private var isOver = false
    /// The last part passed to the stream.
    private var written: EventLoopFuture<Void>?

    init(_ stream: any Channel) { self.stream = stream }

    func channelActive(context: ChannelHandlerContext) {
        context.fireChannelActive()
        context.read()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let written = self.written ?? context.eventLoop.makeSucceededVoidFuture()
        self.written = nil
        written.assumeIsolated().whenComplete { _ in context.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(var head):
            for name in ["Connection", "Keep-Alive", "Transfer-Encoding"] { head.headers.remove(name: name) }
            written = stream.writeAndFlush(HTTPServerResponsePart.head(head))
        case .body(let bytes):
            written = stream.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(bytes)))
        case .end:
            isOver = true
            stream.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil)
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) {
        if !isOver { stream.close(promise: nil) }
        context.fireChannelInactive()
    }
}
