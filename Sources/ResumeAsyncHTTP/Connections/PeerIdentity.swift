internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import ResumeDownload
internal import ResumeHTTP

/// The names in the certificate of a connection, compared with the host of each request before the request is sent.
///
/// BoringSSL verifies the certificate chain. NIO's comparison of names is not used, since it also accepts the address
/// of the socket in place of the URL's host (behind a proxy, that is the proxy's address), common names, and wildcards
/// within a label or above a single one.
final class PeerIdentity {
    private let names: [CertificateName]
    /// The authority that was accepted last; all requests of a connection go to one host.
    private var accepted: String?

    /// Reads the identity of the peer of a TLS connection.
    ///
    /// - Throws: If the connection does not use TLS.
    init(in pipeline: ChannelPipeline.SynchronousOperations) throws {
        names = try pipeline.handler(type: NIOSSLHandler.self).peerCertificate.map(Self.names) ?? []
    }

    private static func names(of certificate: NIOSSLCertificate) -> [CertificateName] {
        certificate._subjectAlternativeNames().compactMap { name in
            switch name.nameType {
            case .dnsName: .dns(Array(name.contents))
            case .ipAddress: .address(Array(name.contents))
            default: nil
            }
        }
    }

    /// Checks whether a request may be sent on this connection.
    ///
    /// - Parameter authority: The host and port of the request.
    /// - Returns: Why it must not be sent; nil if it may be.
    func problem(with authority: String?) -> TransportError? {
        guard authority == nil || authority != accepted else { return nil }
        guard let authority, let host = try? DownloadURL("https://\(authority)/").host else {
            return TransportError(.invalidRequest, "the request names no valid host")
        }
        let server = ServerName(host: host)
        guard names.contains(where: { $0.covers(server) }) else {
            return TransportError(.tls, "the certificate of \(authority) is \(validity), not for \(host)")
        }
        accepted = authority
        return nil
    }

    private var validity: String {
        let shown = names.prefix(5).map(\.text).joined(separator: ", ")
        if names.isEmpty { return "for no name (a common name alone is not accepted)" }
        return names.count > 5 ? "for \(shown) and \(names.count - 5) more" : "for \(shown)"
    }
}

/// Fails HTTP/1 requests to a host that the certificate does not name.
final class IdentityGuard: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let identity: PeerIdentity
    private var problem: TransportError?

    init(_ identity: PeerIdentity) {
        self.identity = identity
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head(let head) = unwrapOutboundIn(data), problem == nil {
            problem = identity.problem(with: head.headers.first(name: "Host"))
            // Later, since the client is about to send a request.
            if let problem {
                context.eventLoop.assumeIsolated().execute {
                    context.fireErrorCaught(problem)
                    context.close(promise: nil)
                }
            }
        }
        guard let problem else { return context.write(data, promise: promise) }
        promise?.fail(problem)
    }
}
