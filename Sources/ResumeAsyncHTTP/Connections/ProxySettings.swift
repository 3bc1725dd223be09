public import ResumeHTTP

/// A proxy server for requests.
package struct ProxyServer: Sendable, Hashable {
    /// The protocol of the proxy.
    package enum Kind: Sendable, Hashable {
        /// HTTP: absolute-form requests for `http`, a tunnel (CONNECT) for `https`.
        case http
        /// SOCKS 5, with names resolved by the proxy.
        case socks5
    }

    /// The protocol of the proxy.
    package var kind: Kind
    /// The host name or address.
    package var host: String
    /// The port.
    package var port: Int
    /// `user:password` for HTTP; nil for none.
    package var credentials: String?

    /// Makes a proxy.
    package init(_ kind: Kind, host: String, port: Int, credentials: String? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// The host and port as in a URL: an IPv6 address has brackets.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The value of `Proxy-Authorization`; nil without credentials.
    var authorization: String? { credentials.map(DownloadURL.basicAuthorization) }
}

/// The proxies for requests, as configured by the environment variables that curl and wget also read.
public struct ProxySettings: Sendable, Hashable {
    /// The proxy for `http` URLs.
    package var http: ProxyServer?
    /// The proxy for `https` URLs.
    package var https: ProxyServer?
    /// The hosts to connect to directly: domain names including their subdomains, addresses, or `*` for all.
    package var exceptions: [String]

    /// Makes settings; by default, no proxy is used.
    package init(http: ProxyServer? = nil, https: ProxyServer? = nil, exceptions: [String] = []) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, and the last three in upper case as well.
    ///
    /// `HTTP_PROXY` is ignored, since CGI servers set it to a request's `Proxy` field.
    ///
    /// - Throws: `InvalidInput` for an unusable value, since bypassing a configured proxy silently would be worse.
    public init(environment: [String: String]) throws(InvalidInput) {
        func proxy(_ names: String...) throws(InvalidInput) -> ProxyServer? {
            for name in names {
                guard let value = environment[name], !value.isEmpty else { continue }
                guard let proxy = Self.proxy(value) else { throw Self.problem(of: name) }
                return proxy
            }
            return nil
        }
        let all = try proxy("all_proxy", "ALL_PROXY")
        http = try proxy("http_proxy") ?? all
        https = try proxy("https_proxy", "HTTPS_PROXY") ?? all
        let list = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        exceptions = list.split { $0 == "," || $0.isWhitespace }.map { $0.lowercased() }
    }

    /// Returns the error for an unusable value of a variable or option.
    package static func problem(of name: String) -> InvalidInput {
        InvalidInput("\(name) does not name a supported proxy; set it to http://host:port or socks5://host:port")
    }

    private static func proxy(_ value: String) -> ProxyServer? {
        var kind = ProxyServer.Kind.http
        var rest = value
        if let mark = value.firstRange(of: "://") {
            switch value[..<mark.lowerBound].lowercased() {
            case "http": break
            case "socks5", "socks5h": kind = .socks5
            default: return nil
            }
            rest = String(value[mark.upperBound...])
        }
        guard let url = try? DownloadURL("http://\(rest)") else { return nil }
        // The default port is 1080, as with curl.
        let authority = rest.prefix { $0 != "/" }
        // async-http-client does not support SOCKS credentials; connecting without them silently would be worse.
        guard kind == .http || url.credentials == nil else { return nil }
        let namesPort = url.port != 80 || authority.hasSuffix(":80")
        return ProxyServer(kind, host: url.plainHost, port: namesPort ? url.port : 1080, credentials: url.credentials)
    }

    /// Returns the proxy for a URL; nil to connect directly.
    package func proxy(for url: DownloadURL) -> ProxyServer? {
        guard let proxy = url.scheme == "https" ? https : http else { return nil }
        let host = url.plainHost
        let isExcepted = exceptions.contains { exception in
            var name = Substring(exception)
            if name == "*" { return true }
            if name.hasPrefix("[") { name = name.dropFirst().prefix { $0 != "]" } }
            if name.hasSuffix(":\(url.port)") { name = name.dropLast(":\(url.port)".count) }
            while name.hasPrefix(".") { name = name.dropFirst() }
            return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
        }
        return isExcepted ? nil : proxy
    }
}

extension DownloadURL {
    /// The host without the brackets of an IPv6 address.
    fileprivate var plainHost: String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}
