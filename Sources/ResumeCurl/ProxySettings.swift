import ResumeDownload
package import ResumeHTTP

/// The proxies for requests, as configured by the environment variables that curl and wget also read.
public struct ProxySettings: Sendable, Hashable {
    /// The proxies for `http` and `https` URLs, or why they cannot be used; nil for none.
    private let http, https: Result<Server, InvalidInput>?
    /// The hosts to connect to directly: domain names including their subdomains, addresses, networks, or only `*`.
    private let exceptions: [String]

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, and the last three in upper case as well.
    ///
    /// `HTTP_PROXY` is ignored, since CGI servers set it to a request's `Proxy` field. Requests that an unusable value
    /// applies to fail, since bypassing a configured proxy silently would be worse.
    public init(environment: [String: String]) {
        func proxy(_ names: String...) -> Result<Server, InvalidInput>? {
            guard let name = names.first(where: { environment[$0]?.isEmpty == false }) else { return nil }
            return environment[name].flatMap(Self.proxy).map(Result.success) ?? .failure(Self.problem(of: name))
        }
        let all = proxy("all_proxy", "ALL_PROXY")
        http = proxy("http_proxy") ?? all
        https = proxy("https_proxy", "HTTPS_PROXY") ?? all
        let list = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        exceptions = list.split { $0 == "," || $0.isWhitespace }.map { $0.lowercased() }
    }

    /// Returns the error for an unusable value of a variable or option.
    package static func problem(of name: String) -> InvalidInput {
        InvalidInput(sentence("bad-proxy", name))
    }

    /// Parses the URL of a proxy; nil if it is not supported.
    package static func proxy(_ value: String) -> Server? {
        let mark = value.firstRange(of: "://")
        let scheme = mark.map { value[..<$0.lowerBound].lowercased() } ?? "http"
        let rest = mark.map { value[$0.upperBound...] } ?? value[...]
        guard !rest.contains("://"), let kind = Server.Kind(rawValue: scheme),
            let url = try? DownloadURL("http://\(rest)")
        else {
            return nil
        }
        let namesPort = url.port != 80 || rest.prefix { $0 != "/" }.hasSuffix(":80")
        // The default ports of curl.
        let port = namesPort ? url.port : kind == .https ? 443 : 1080
        return Server(kind: kind, host: url.plainHost, port: port, credentials: url.credentials)
    }

    /// Returns the proxy for a URL; nil to connect directly.
    ///
    /// - Throws: `TransportError` if the proxy for its scheme is unusable.
    func proxy(for url: DownloadURL) throws(TransportError) -> Server? {
        guard let proxy = url.scheme == "https" ? https : http, !isExcepted(url.plainHost) else {
            return nil
        }
        do {
            return try proxy.get()
        } catch {
            throw TransportError(.invalidRequest, error.description)
        }
    }

    /// Whether a host is one of ``exceptions``, which are read as libcurl does.
    private func isExcepted(_ host: String) -> Bool {
        if exceptions == ["*"] { return true }
        if let address = PublicAddress.bytes(of: host) {
            return exceptions.contains { exception in
                PublicAddress.contains(exception.filter { $0 != "[" && $0 != "]" }, address)
            }
        }
        let host = host.hasSuffix(".") ? host.dropLast() : host[...]
        return exceptions.contains { exception in
            let name = exception.split(separator: ".").joined(separator: ".")
            return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
        }
    }

    /// A proxy server for requests.
    package struct Server: Sendable, Hashable {
        /// The protocol of the proxy, as curl names it.
        enum Kind: String {
            /// HTTP, also over TLS: absolute-form requests for `http`, a tunnel (CONNECT) for `https`.
            case http, https
            /// SOCKS; names are resolved by the proxy with `socks4a` and `socks5h`.
            case socks4, socks4a, socks5, socks5h
        }

        /// The protocol of the proxy.
        var kind: Kind
        /// The host name or address.
        var host: String
        var port: Int
        /// `user:password`; nil for none.
        var credentials: String?

        /// The host and port as in a URL: an IPv6 address has brackets.
        var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

        /// Whether it resolves the names of servers.
        var resolvesNames: Bool { kind == .socks4a || kind == .socks5h }

        /// Its URL, as libcurl reads it.
        var address: String { "\(kind.rawValue)://\(authority)" }
    }
}

extension DownloadURL {
    /// The host without the brackets of an IPv6 address.
    fileprivate var plainHost: String {
        host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    }
}
