internal import NIOCore
internal import NIOHTTP1
internal import ResumeHTTP

/// The route to an origin.
enum Route: Hashable {
    case direct
    /// Through a SOCKS proxy.
    case socks(ProxyServer)
    /// Through a tunnel that a proxy opens after a CONNECT request.
    case tunnel(ProxyServer)
    /// Through a proxy that gets absolute-form requests for `http` URLs; many proxies allow tunnels only to port 443.
    case forward(ProxyServer)

    init(to url: DownloadURL, _ settings: ProxySettings) {
        self =
            switch settings.proxy(for: url) {
            case nil: .direct
            case let proxy? where proxy.kind == .socks5: .socks(proxy)
            case let proxy?: url.scheme == "http" ? .forward(proxy) : .tunnel(proxy)
            }
    }

    var isTunnel: Bool {
        if case .tunnel = self { true } else { false }
    }

    var isForward: Bool {
        if case .forward = self { true } else { false }
    }

    /// The host and port to connect to, behind SOCKS if that is used.
    func authority(for url: DownloadURL) -> String {
        switch self {
        case .direct, .socks: "\(url.host):\(url.port)"
        case .tunnel(let proxy), .forward(let proxy): proxy.authority
        }
    }

    /// The peer of a connection, for messages.
    func peer(for authority: String) -> String {
        switch self {
        case .direct: authority
        case .socks(let proxy), .tunnel(let proxy), .forward(let proxy): "\(authority) via the proxy \(proxy.authority)"
        }
    }
}

/// Writes requests in absolute form, as proxies require (RFC 9112, 3.2.2).
final class AbsoluteForm: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    private let authorization: String?

    init(_ proxy: ProxyServer) {
        authorization = proxy.authorization
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), let host = head.headers.first(name: "Host") else {
            return context.write(data, promise: promise)
        }
        head.uri = "http://\(host)\(head.uri)"
        if let authorization { head.headers.replaceOrAdd(name: "Proxy-Authorization", value: authorization) }
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
