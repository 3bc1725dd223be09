#if !AsyncHTTP
#error("ResumeAsyncHTTP needs the trait 'AsyncHTTP' of the package resume-store, which is enabled by default")
#endif
public import AsyncHTTPClient
public import HTTPTypes
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
public import ResumeDownload
internal import ResumeFiles
internal import ResumeHTTP
internal import Synchronization

/// A transport based on async-http-client, for Linux and all other platforms.
///
/// It uses HTTP/1.1, so that one download is one stream whose back-pressure reaches the socket, and HTTP/2 if
/// configured. Requests go through a proxy if one is configured.
public final class AsyncHTTPTransport: Transport {
    private let configuration: Configuration
    /// The transport's own event loops, since a body is written to its file on the loop that receives it.
    private let group: MultiThreadedEventLoopGroup
    /// The application's client, which sends all requests; nil if the transport makes its own.
    private let shared: SharedClient?
    private let addresses: AddressBook?
    private let state: Mutex<State>

    private struct State {
        /// Responses that have not ended.
        var live: [ObjectIdentifier: BodyReceiver] = [:]
        var clients: ClientShelf
        /// For `SecureStart`; made at its first use.
        var tls: NIOSSLContext?
        var isShutDown = false
    }

    /// The settings of a transport.
    public struct Configuration: Sendable {
        /// The timeout for connecting, including the TLS handshake.
        public var connectTimeout: Duration
        /// A file with trusted certificates in PEM format; nil for those of the system.
        ///
        /// Certificates of servers must also name the host of the URL; see `docs/transports.md`.
        public var trustedCertificates: String?

        /// The number of threads that receive and write.
        ///
        /// Downloads share them: one with a slow disk delays others on the same thread.
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

        /// Called for each connection before a request is sent on it, to decide whether requests may go to its numeric
        /// address; nil permits all.
        ///
        /// The address is the one that was connected to, so it cannot be changed by a later name lookup. Behind a
        /// proxy, it is that of the proxy. See ``AsyncHTTPTransport/isPublicAddress(_:)``.
        ///
        /// At that point, the connection and TLS have already been established. If clients must not even learn whether
        /// a port is open, use the network's own means to prevent that.
        public var permitsAddress: (@Sendable (String) -> Bool)?

        /// Whether servers must prove their identity with a certificate.
        package var verifiesServers = true
        /// What certificates prove, once the file with them was read; nil for those that the system trusts.
        var trust: ServerTrust?
        /// Which addresses to connect to without a proxy.
        package var addresses = AddressChoice()
        /// The numeric address of this machine that connections come from; nil for any.
        package var localAddress: String?

        /// Makes a configuration; by default, connecting times out after 30 seconds, the system's certificates are
        /// trusted, and no proxy is used.
        public init(
            connectTimeout: Duration = .seconds(30), trustedCertificates: String? = nil, threads: Int = 8,
            connectionsPerHost: Int = 64, proxies: ProxySettings? = nil, usesHTTP2: Bool = false,
            permitsAddress: (@Sendable (String) -> Bool)? = nil
        ) {
            self.connectTimeout = connectTimeout
            self.trustedCertificates = trustedCertificates
            self.threads = threads
            self.connectionsPerHost = connectionsPerHost
            self.proxies = proxies
            self.usesHTTP2 = usesHTTP2
            self.permitsAddress = permitsAddress
        }
    }

    /// Whether it checks addresses (``Configuration/permitsAddress``).
    public var permitsSomeAddressesOnly: Bool { configuration.permitsAddress != nil }

    /// Makes a transport.
    ///
    /// Call ``shutdown()`` at the end.
    public init(_ configuration: Configuration = Configuration()) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: min(max(configuration.threads, 1), 256))
        self.configuration = configuration.knowingTrust
        addresses = AddressBook(configuration.addresses)
        state = Mutex(State(clients: ClientShelf(mostIdle: configuration.connectionsPerHost)))
        shared = nil
    }

    /// Makes a transport that sends its requests with a client of the application.
    ///
    /// The client must not follow redirects (`redirectConfiguration = .disallow`) nor decode bodies
    /// (`decompression = .disabled`). Its settings cannot be read: the first response for which it does either fails
    /// with `TransportError` of `invalidRequest`.
    ///
    /// It lacks the guards that a transport adds to its own connections: limits for malformed and endless heads, the
    /// rules of RFC 9525 for certificates, and `permitsAddress`. ``shutdown()`` leaves it open.
    ///
    /// - Parameter client: The client. Shut it down when the transport is no longer used.
    public init(client: HTTPClient) {
        group = .singleton
        configuration = Configuration()
        addresses = AddressBook(configuration.addresses)
        state = Mutex(State(clients: ClientShelf(mostIdle: 0)))
        shared = SharedClient(client: client)
    }

    /// Closes all connections; responses that are still being received fail.
    ///
    /// - Throws: The error of async-http-client if a connection cannot be closed.
    public func shutdown() async throws {
        if shared != nil { return state.withLock { $0.isShutDown = true } }
        let (live, clients) = state.withLock { state in
            state.isShutDown = true
            // Nothing is left for a second call, since async-http-client permits only one shutdown.
            return (Array(state.live.values), state.clients.removeAll())
        }
        for receiver in live { receiver.cancel(with: TransportError.isShutDown) }
        try await Self.end(clients, group)
    }

    /// Shuts down the clients if ``shutdown()`` was not called, for example after an error; async-http-client requires
    /// it.
    deinit {
        if shared != nil { return }
        let rest = state.withLock { $0.isShutDown ? nil : $0.clients.removeAll() }
        let group = group
        if let rest { Task { try? await Self.end(rest, group) } }
    }

    private static func end(_ rest: ClientShelf.Rest, _ group: MultiThreadedEventLoopGroup) async throws {
        await rest.closing?.value
        var failure: (any Error)?
        for client in rest.clients {
            do {
                try await client.shutdown()
            } catch {
                failure = error
            }
        }
        try await group.shutdownGracefully()
        if let failure { throw failure }
    }

    /// The number of its clients.
    package var clientCount: Int { state.withLock(\.clients.count) }

    /// Sends a request as `Transport` requires.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        try await send(request, within: nil)
    }

    /// Sends a request as `Transport` requires.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest, timeout: Duration) async throws -> TransportResponse {
        try await send(request, within: timeout)
    }

    private func send(_ request: HTTPRequest, within timeout: Duration?) async throws -> TransportResponse {
        if let shared {
            if state.withLock(\.isShutDown) { throw TransportError.isShutDown }
            guard let timeout else { return try await shared.send(request) }
            return try await shared.send(request, timeout: timeout)
        }
        let url = try DownloadURL(of: request)
        guard let addresses else { return try await send(request, to: url, within: timeout) }
        return try await addresses.connecting(to: url, proxies) { address in
            try await send(request, to: url, at: address, within: timeout)
        }
    }

    private var proxies: ProxySettings { configuration.proxies ?? ProxySettings() }

    private func send(
        _ request: HTTPRequest, to url: DownloadURL, at address: ChosenAddress? = nil, within timeout: Duration?
    ) async throws -> TransportResponse {
        let way = Way(to: url, proxies, at: address, usesHTTP2: configuration.usesHTTP2)
        let route = way.route
        let message = try Self.message(for: request, to: url, by: way)
        let receiver = BodyReceiver(authority: route.peer(for: url.authority)) { [weak self] receiver in
            self?.state.withLock { state in
                if state.live.removeValue(forKey: ObjectIdentifier(receiver)) != nil { state.clients.putBack(way) }
            }
        }
        let client = try state.withLock { state -> HTTPClient? in
            guard !state.isShutDown else { return nil }
            let client = try state.clients.take(way) ?? makeClient(to: url, by: way, &state)
            state.live[ObjectIdentifier(receiver)] = receiver
            return client
        }
        guard let client else { throw TransportError.isShutDown }
        let task = client.execute(request: message, delegate: receiver)
        receiver.attach(task)
        let stopTimer = timeout.map { timeout in
            Ticker.shared.every(timeout) { receiver.cancel(with: TransportError.late(url.authority, timeout)) }
        }
        defer { stopTimer?() }
        do {
            return try await withCancellation {
                TransportResponse(head: try await receiver.head(), body: receiver, trust: configuration.trust)
            } onCancel: {
                receiver.cancel(with: CancellationError())
            }
        } catch let error as TransportError where error.isDistrust(of: route.peer(for: url.authority)) {
            let probe = CertificateProbe(configuration: configuration, group: group)
            guard let reason = await probe.reason(at: url, by: route, way.address) else { throw error }
            throw TransportError(.tls, "\(error.message): \(reason)")
        }
    }

    private func makeClient(to url: DownloadURL, by way: Way, _ state: inout State) throws -> HTTPClient {
        let settings = HTTPClient.Configuration(
            for: configuration, through: way.route, isSecure: way.isSecure, at: way.address,
            start: try start(to: url, by: way, &state))
        let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: settings)
        state.clients.add(client, way)
        return client
    }

    /// Returns what starts tunnels, TLS and HTTP/2; nil if the client does what is needed.
    private func start(to url: DownloadURL, by way: Way, _ state: inout State) throws -> SecureStart? {
        guard way.origin != nil else { return nil }
        do {
            let tls = try state.tls ?? NIOSSLContext(configuration: TLSConfiguration(for: configuration))
            state.tls = tls
            return SecureStart(
                to: url, by: way.route, tls: tls, timeout: configuration.connectTime,
                isVerified: configuration.verifiesServers)
        } catch {
            throw TransportError(.tls, "could not read the trusted certificates: \(error)")
        }
    }
}
