#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import AsyncHTTPClient
internal import NIOCore
internal import NIOSSL
internal import ResumeDownload
internal import ResumeHTTP

extension HTTPClient.Configuration {
    /// Makes the settings for a client of a transport.
    ///
    /// - Parameters:
    ///   - configuration: The transport's settings.
    ///   - route: The route to the origins.
    ///   - isSecure: Whether all connections use TLS.
    ///   - address: The address to connect to in place of that of the host.
    ///   - start: Starts TLS and HTTP/2 on connections whose URLs have the scheme `http`; nil if the client does that.
    init(
        for configuration: AsyncHTTPTransport.Configuration, through route: Route, isSecure: Bool,
        at address: ChosenAddress? = nil, start: SecureStart? = nil
    ) {
        self.init()
        // The engine creates its own spans; those of the client would contain signed URLs.
        tracing.tracer = nil
        redirectConfiguration = .disallow
        decompression = .disabled
        httpVersion = .http1Only
        tlsConfiguration = TLSConfiguration(for: configuration)
        if case .socks(let proxy) = route { self.proxy = .socksServer(host: proxy.host, port: proxy.port) }
        if let address { dnsOverride = [address.host: address.text] }
        localAddress = configuration.localAddress
        // The engine detects stalls, and knows whether the network causes them.
        let share = configuration.connectTime.nanoseconds / Int64(max(address?.count ?? 1, 1))
        timeout = .init(connect: .nanoseconds(max(share, 1_000_000)), read: nil)
        // The engine decides on retries, so failures to connect are reported at once.
        connectionPool.retryConnectionEstablishment = false
        connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(configuration.connectionsPerHost, 1)
        let permits = configuration.permitsAddress
        let isVerified = isSecure && configuration.verifiesServers
        // One large read per turn of the loop instead of four small ones; the buffer grows only while reads fill it.
        http1_1ConnectionDebugInitializer = { channel in
            channel.setOption(
                .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 65536, maximum: 1 << 20)
            )
            .flatMap { channel.setOption(.maxMessagesPerRead, value: 1) }
            .flatMap {
                let install: @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { pipeline in
                    let parser = try ParserGuard.install(in: pipeline)
                    if isVerified {
                        try pipeline.addHandler(IdentityGuard(PeerIdentity(in: pipeline)), position: .after(parser))
                    }
                    guard case .forward(let proxy) = route else { return }
                    try pipeline.addHandler(AbsoluteForm(proxy), position: .after(parser))
                }
                if let start { return start.install(on: channel, http1: install) }
                return channel.eventLoop.makeCompletedFuture { try install(channel.pipeline.syncOperations) }
            }
            .flatMapThrowing { try ArrivalGate.install(on: channel) }
            .flatMap { Self.check(channel, permits) }
        }
    }

    /// Closes a connection to an address that is not permitted before a request is sent on it.
    private static func check(_ channel: any Channel, _ permits: (@Sendable (String) -> Bool)?) -> EventLoopFuture<Void>
    {
        guard let permits else { return channel.eventLoop.makeSucceededVoidFuture() }
        let address = channel.remoteAddress?.ipAddress ?? ""
        if permits(address) { return channel.eventLoop.makeSucceededVoidFuture() }
        let error = TransportError(.addressNotPermitted, "requests to the address \(address) are not permitted")
        return channel.close().flatMapThrowing { throw error }
    }
}

extension AsyncHTTPTransport {
    /// Whether a file contains certificates in PEM format.
    package static func hasCertificates(at path: String) -> Bool {
        (try? NIOSSLCertificate.fromPEMFile(path).isEmpty) == false
    }
}

extension AsyncHTTPTransport.Configuration {
    /// The connect timeout, limited to valid values.
    var connectTime: TimeAmount {
        TimeAmount(min(max(connectTimeout, .milliseconds(1)), .seconds(86_400)))
    }
}

extension TLSConfiguration {
    /// Makes the settings for all connections of a transport.
    init(for configuration: AsyncHTTPTransport.Configuration) {
        self = .makeClientConfiguration()
        if let path = configuration.trustedCertificates { trustRoots = .file(path) }
        // `PeerIdentity` compares the names instead.
        certificateVerification = configuration.verifiesServers ? .noHostnameVerification : .none
        // The end of a response is known from its framing. Some servers, such as h2o, never answer a close_notify.
        shutdownTimeout = .milliseconds(100)
        applicationProtocols = configuration.usesHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
    }
}

extension AsyncHTTPTransport {
    /// Returns whether a numeric address is neither private, local nor reserved, for ``Configuration/permitsAddress``.
    ///
    /// Source: the special-purpose address registries of IANA
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    ///
    /// - Parameter address: An address such as `192.0.2.1` or `2001:db8::1`.
    /// - Returns: Whether it is public; false for invalid addresses.
    public static func isPublicAddress(_ address: String) -> Bool { PublicAddress.isPublic(address) }
}

extension AsyncHTTPTransport.Configuration {
    /// The same settings with what certificates prove.
    var knowingTrust: Self {
        var known = self
        known.trust = trustedCertificates.map { path in
            let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
            return .authorities(String((HTTPDigest(.sha256, of: bytes)?.hexadecimal ?? "").prefix(16)))
        }
        if !verifiesServers { known.trust = .unverified }
        return known
    }
}
