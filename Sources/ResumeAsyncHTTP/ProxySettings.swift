#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
public import ResumeHTTP

/// A proxy that requests go through.
public struct ProxyServer: Sendable, Hashable {
    /// How it is spoken to.
    public enum Kind: Sendable, Hashable {
        /// HTTP: requests for `http` in full, a tunnel (CONNECT) for `https`.
        case http
        /// SOCKS 5, which resolves names itself.
        case socks5
    }

    /// How it is spoken to.
    public var kind: Kind
    /// Name or address.
    public var host: String
    /// Port.
    public var port: Int
    /// `user:password` for HTTP; nil for none.
    public var credentials: String?

    /// Makes a proxy.
    public init(_ kind: Kind, host: String, port: Int, credentials: String? = nil) {
        self.kind = kind
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// Host and port as in a URL: an IPv6 address has brackets.
    var authority: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// The value of `Proxy-Authorization`; nil without credentials.
    var authorization: String? { credentials.map { "Basic \(Data($0.utf8).base64EncodedString())" } }
}

/// Which proxy a request goes through, by the variables that curl and wget read as well.
public struct ProxySettings: Sendable, Hashable {
    /// For `http` URLs.
    public var http: ProxyServer?
    /// For `https` URLs.
    public var https: ProxyServer?
    /// Hosts that are reached without one: names with all below them, addresses, `*` for all.
    public var exceptions: [String]

    /// Why a variable is of no use.
    public struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
        /// Which one.
        public var variable: String

        /// What is wrong, and what would be right.
        public var description: String {
            "\(variable) does not name a supported proxy; set it to http://host:port or socks5://host:port"
        }
    }

    /// Makes settings; the default is to use none.
    public init(http: ProxyServer? = nil, https: ProxyServer? = nil, exceptions: [String] = []) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, the last three in capitals as well.
    ///
    /// `HTTP_PROXY` is not read: a web server sets it to what a request's `Proxy` field says.
    ///
    /// - Throws: ``Problem`` for a value that cannot be used: going past a proxy unasked would be worse.
    public init(environment: [String: String]) throws(Problem) {
        func proxy(_ names: String...) throws(Problem) -> ProxyServer? {
            for name in names {
                guard let value = environment[name], !value.isEmpty else { continue }
                guard let proxy = Self.proxy(value) else { throw Problem(variable: name) }
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
        // As curl has it: 1080 where no port is named.
        let authority = rest.prefix { $0 != "/" }
        // async-http-client has no credentials for SOCKS; going without them unasked would be worse.
        guard kind == .http || url.credentials == nil else { return nil }
        let namesPort = url.port != 80 || authority.hasSuffix(":80")
        return ProxyServer(kind, host: url.plainHost, port: namesPort ? url.port : 1080, credentials: url.credentials)
    }

    /// The proxy for a URL; nil to go there directly.
    public func proxy(for url: DownloadURL) -> ProxyServer? {
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
