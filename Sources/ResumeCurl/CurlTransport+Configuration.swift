package import ResumeDownload
package import ResumeHTTP

extension CurlTransport {
    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The timeout for connecting, including the TLS handshake.
        public var connectTimeout: Duration
        /// A file with trusted certificates in PEM format; nil for those of the system.
        ///
        /// Certificates of servers must also name the host of the URL; see `docs/transports.md`.
        public var trustedCertificates: String?
        /// Whether the system's resolver says that there is no host with this name; it may block.
        package var isUnknownHost: @Sendable (_ name: String) -> Bool = TransportError.isUnknownHost
        /// The number of threads that receive; nothing that may block runs on them.
        public var threads: Int
        /// The maximum number of connections to one host; requests beyond that wait for a free one.
        ///
        /// A download with several connections needs that many for itself. This also applies to HTTP/2, since each
        /// connection carries one request at a time.
        public var connectionsPerHost: Int
        /// The proxies to use; nil for none.
        public var proxies: ProxySettings?
        /// Whether to use HTTP/2 over TLS with servers that offer it.
        ///
        /// Intended for servers without HTTP/1.1: single downloads are not faster with it.
        public var usesHTTP2: Bool

        /// Called before each connection, to decide whether a numeric address may be connected to; nil permits all.
        ///
        /// It gets the address that is connected to, so no later name lookup can change it. Behind a proxy, that is the
        /// address of the proxy. See ``CurlTransport/isPublicAddress(_:)``.
        public var permitsAddress: (@Sendable (String) -> Bool)?

        /// Whether servers must prove their identity with a certificate.
        package var verifiesServers = true
        /// A folder with trusted certificates, as OpenSSL's `c_rehash` names them; nil for none.
        package var trustedCertificateFolder: String?
        /// Which addresses to connect to without a proxy.
        package var addresses = AddressChoice()
        /// The network interface, or the numeric address of this machine, that connections come from; nil for any.
        package var localInterface: String?
        /// The certificate of this client; nil for none.
        package var clientCertificate: ClientCertificate?
        /// The public keys that servers may have, as libcurl takes them: a file, or `sha256//` and hashes; nil for any.
        package var pinnedKey: String?
        /// The newest version of TLS to use, as in 1.2; nil for that of the library.
        package var newestTLS: TLSVersion?
        /// Whether old devices are accepted: TLS 1.0, and short keys.
        package var permitsOldTLS = false
        /// Whether to use HTTP/3, where libcurl has it.
        package var usesHTTP3 = false
        /// How a server is told the user and password of a request's `Authorization` field.
        package var authentication = Authentication.basic
        /// The most connections that each thread keeps open, of all hosts together.
        package var keptConnections = 64
        /// The cookies of all requests; nil if each download has its own.
        package var cookies: CookieJar?

        /// Makes a configuration; by default, connecting times out after 30 seconds, the system's certificates are
        /// trusted, no proxy is used, and there are as many threads as cores, at most 4.
        public init(
            connectTimeout: Duration = .seconds(30), trustedCertificates: String? = nil, threads: Int? = nil,
            connectionsPerHost: Int = 64, proxies: ProxySettings? = nil, usesHTTP2: Bool = false,
            permitsAddress: (@Sendable (String) -> Bool)? = nil
        ) {
            self.connectTimeout = connectTimeout
            self.trustedCertificates = trustedCertificates
            self.threads = threads ?? NetworkThread.usualCount
            self.connectionsPerHost = connectionsPerHost
            self.proxies = proxies
            self.usesHTTP2 = usesHTTP2
            self.permitsAddress = permitsAddress
        }
    }

    package enum TLSVersion: String, Sendable, CaseIterable {
        case version1_2 = "1.2"
        case version1_3 = "1.3"
    }

    /// A certificate that proves who the client is.
    package struct ClientCertificate: Sendable, Hashable {
        /// The file with the certificate, in PEM format.
        package var file: String
        /// The file with its private key; nil if it is in the same file.
        var keyFile: String?
        /// The password of the key; nil for none.
        var password: String?

        package init(file: String, keyFile: String? = nil, password: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.password = password
        }
    }

    /// How a server is told the user and password (RFC 9110, 11).
    package enum Authentication: Sendable {
        /// As the field says, at once.
        case basic
        /// By a digest, after the server's challenge.
        case digest
        /// By the strongest method that the server offers.
        case any
    }

    /// Which addresses the hosts of URLs are connected to.
    package struct AddressChoice: Sendable, Hashable {
        /// A version of the Internet Protocol.
        package enum Family: Sendable {
            case version4, version6
        }

        /// Numeric addresses by host and port, such as `example.org:443` or `*:443`, in the order in which they are tried.
        package var fixed: [String: [String]]
        /// The only version to use; nil for both.
        package var family: Family?
        /// The hosts and ports to connect to instead of those of URLs, such as `example.org:443:other.example.org:8443`.
        package var routes: [String]

        package init(fixed: [String: [String]] = [:], family: Family? = nil, routes: [String] = []) {
            self.fixed = fixed
            self.family = family
            self.routes = routes
        }

        /// Whether a host is an address of the other version.
        func excludes(_ host: String) -> Bool {
            switch family {
            case .version4?: host.hasPrefix("[")
            case .version6?: PublicAddress.isAddress(host)
            case nil: false
            }
        }

        /// Returns the addresses that are chosen for the host and port of a URL; nil if none are.
        package func addresses(for url: DownloadURL) -> [String]? {
            fixed.isEmpty ? nil : fixed["\(url.host):\(url.port)"] ?? fixed["*:\(url.port)"]
        }
    }
}
