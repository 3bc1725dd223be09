#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import NIOCore
internal import NIOHTTP1
internal import ResumeHTTP

/// The way to an origin.
enum Route: Hashable {
    case direct
    /// By a tunnel, or SOCKS.
    case tunnel(ProxyServer)
    /// To a proxy that is asked for `http` URLs in full: many of them let tunnels through to port 443 only.
    case forward(ProxyServer)

    init(to url: DownloadURL, _ settings: ProxySettings) {
        self =
            switch settings.proxy(for: url) {
            case nil: .direct
            case let proxy? where proxy.kind == .http && url.scheme == "http": .forward(proxy)
            case let proxy?: .tunnel(proxy)
            }
    }

    /// Whom a connection is made to, for messages.
    func peer(for authority: String) -> String {
        switch self {
        case .direct: authority
        case .tunnel(let proxy), .forward(let proxy): "\(authority) via the proxy \(proxy.authority)"
        }
    }
}

/// Writes requests in the form that a proxy wants (RFC 9112, 3.2.2).
final class AbsoluteForm: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let credentials: String?

    init(_ proxy: ProxyServer) {
        credentials = proxy.credentials.map { "Basic \(Data($0.utf8).base64EncodedString())" }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), let host = head.headers.first(name: "Host") else {
            return context.write(data, promise: promise)
        }
        head.uri = "http://\(host)\(head.uri)"
        if let credentials { head.headers.replaceOrAdd(name: "Proxy-Authorization", value: credentials) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
