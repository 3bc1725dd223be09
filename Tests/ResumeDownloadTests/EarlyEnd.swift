import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A server that announces one byte more than it sends, and closes the connection right after the last one.
final class EarlyEnd: Sendable {
    enum Kind: String, CaseIterable {
        case plain
        /// Over TLS. The end is a bare TCP close, or announced with close_notify.
        case tls, tlsAnnounced
        case http2, http2Announced

        var isSecure: Bool { self != .plain }
        var isHTTP2: Bool { self == .http2 || self == .http2Announced }
        fileprivate var isAnnounced: Bool { self == .tlsAnnounced || self == .http2Announced }
    }

    let kind: Kind
    let port: Int
    /// The number of bodies that the system has accepted, including the end of the connection.
    var endings: Int { ended.value }
    private let ended: Counter

    /// Runs a body with a server.
    ///
    /// - Parameters:
    ///   - kind: The protocol.
    ///   - bytes: The bytes to send.
    ///   - body: The code that uses the server.
    /// - Throws: What the body throws, or an error if the server cannot be started.
    static func with(_ kind: Kind, sending bytes: [UInt8], _ body: (EarlyEnd) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            try await body(EarlyEnd(kind, bytes, group))
            try await group.shutdownGracefully()
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
    }

    private init(_ kind: Kind, _ bytes: [UInt8], _ group: MultiThreadedEventLoopGroup) async throws {
        self.kind = kind
        let ended = Counter()
        self.ended = ended
        let tls = kind.isSecure ? try Self.context(kind) : nil
        let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
                if kind.isHTTP2 { try pipeline.addHandler(NIOHTTP2Handler(mode: .server)) }
                try pipeline.addHandler(Sender(kind, bytes, ended))
            }
        }
        port = try await bootstrap.bind(host: "127.0.0.1", port: 0).get().localAddress?.port ?? 0
    }

    private static func context(_ kind: Kind) throws -> NIOSSLContext {
        var settings = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(HTTP2Gateway.certificate).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: HTTP2Gateway.certificate, format: .pem)))
        settings.applicationProtocols = [kind.isHTTP2 ? "h2" : "http/1.1"]
        return try NIOSSLContext(configuration: settings)
    }
}

/// A counter that another thread increments.
private final class Counter: Sendable {
    private let number = Atomic(0)

    var value: Int { number.load(ordering: .acquiring) }

    func increment() { number.add(1, ordering: .releasing) }
}

/// Answers the first thing received.
private final class Sender: ChannelInboundHandler {
    /// Only over HTTP/2.
    typealias InboundIn = HTTP2Frame

    private let kind: EarlyEnd.Kind
    private let bytes: [UInt8]
    private let ended: Counter
    private var hasAnswered = false

    init(_ kind: EarlyEnd.Kind, _ bytes: [UInt8], _ ended: Counter) {
        (self.kind, self.bytes, self.ended) = (kind, bytes, ended)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered, !kind.isHTTP2 || isRequest(data) else { return }
        let body = context.channel.allocator.buffer(bytes: bytes)
        let sent = context.eventLoop.makePromise(of: Void.self)
        if kind.isHTTP2 {
            let headers = HPACKHeaders([
                (":status", "200"), ("content-length", "\(bytes.count + 1)"), ("etag", "\"v1\""),
            ])
            let head = HTTP2Frame(streamID: 1, payload: .headers(.init(headers: headers)))
            context.write(NIOAny(head), promise: nil)
            var rest = body
            while let part = rest.readSlice(length: min(rest.readableBytes, 16_384)), part.readableBytes > 0 {
                let frame = HTTP2Frame(streamID: 1, payload: .data(.init(data: .byteBuffer(part))))
                context.write(NIOAny(frame), promise: rest.readableBytes == 0 ? sent : nil)
            }
            context.flush()
        } else {
            let head = "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(bytes.count + 1)\r\n\r\n"
            context.write(NIOAny(ByteBuffer(string: head)), promise: nil)
            context.writeAndFlush(NIOAny(body), promise: sent)
        }
        hasAnswered = true
        let (kind, ended) = (kind, ended)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
            // The other end may still send, and unread data would make the system reset the connection. From here on,
            // data bypasses the TLS handler.
            if kind.isAnnounced {
                context.close(promise: nil)
            } else {
                (tls ?? context).close(mode: .output, promise: nil)
            }
            ended.increment()
        }
    }

    private func isRequest(_ data: NIOAny) -> Bool {
        if case .headers = unwrapInboundIn(data).payload { true } else { false }
    }
}
