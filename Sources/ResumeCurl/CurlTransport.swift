#if !Curl
#error("ResumeCurl needs the trait 'Curl' of the package resume-store, which is enabled by default")
#endif
internal import CResumeCurl
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
public import HTTPTypes
public import ResumeDownload
import ResumeHTTP
import Synchronization

/// A transport based on libcurl, for Linux and macOS.
///
/// It uses HTTP/1.1, so that one download is one stream whose back-pressure reaches the socket, and HTTP/2 if
/// configured. Requests go through a proxy if one is configured.
public final class CurlTransport: Transport {
    private let configuration: Configuration
    private let threads: [NetworkThread]
    private let isShutDown = Atomic(false)

    /// Whether it checks addresses (``Configuration/permitsAddress``).
    public var permitsSomeAddressesOnly: Bool { configuration.permitsAddress != nil }

    /// Makes a transport.
    ///
    /// Call ``shutdown()`` at the end.
    public init(_ configuration: Configuration = Configuration()) {
        let known = configuration.knowingTrust
        let most = max(configuration.connectionsPerHost, 1)
        let count = min(max(configuration.threads, 1), most, 256)
        let pool = PartPool()
        self.configuration = known
        threads = (0..<count).map { index in
            NetworkThread(known, connectionsPerHost: (most + count - 1 - index) / count, pool)
        }
    }

    /// Closes all connections; responses that are still being received fail.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        for thread in threads { await thread.stop() }
    }

    /// Ends the threads if ``shutdown()`` was not called, for example after an error.
    deinit {
        for thread in threads { thread.post(.stop) }
    }

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
        let url = try DownloadURL(of: request)
        let proxy = try configuration.proxies?.proxy(for: url)
        // The one with the fewest exchanges, at first with this host; the first of them, whose connections are the most
        // likely to be used again.
        guard !isShutDown.load(ordering: .relaxed),
            let thread = threads.min(by: { $0.load(of: url.authority) < $1.load(of: url.authority) })
        else { throw TransportError.isShutDown }
        let exchange = Exchange(
            request, to: url, by: proxy, configuration.cookies ?? CookieJar.current, on: thread)
        thread.post(.start(exchange))
        return TransportResponse(
            head: try await exchange.head(within: timeout), body: exchange, trust: configuration.trust)
    }

    /// Returns whether a numeric address is neither private, local nor reserved, for ``Configuration/permitsAddress``.
    ///
    /// Source: the special-purpose address registries of IANA
    /// ([IPv4](https://www.iana.org/assignments/iana-ipv4-special-registry),
    /// [IPv6](https://www.iana.org/assignments/iana-ipv6-special-registry)).
    ///
    /// - Parameter address: An address such as `192.0.2.1` or `2001:db8::1`.
    /// - Returns: Whether it is public; false for invalid addresses.
    public static func isPublicAddress(_ address: String) -> Bool { PublicAddress.isPublic(address) }

    /// Returns what tells a file with trusted certificates from others: the beginning of its SHA-256.
    package static func hashOfCertificates(at path: String) -> String {
        let bytes = [UInt8](FileManager.default.contents(atPath: path) ?? Data())
        return String((HTTPDigest(.sha256, of: bytes)?.hexadecimal ?? "").prefix(16))
    }

    /// Whether a file contains certificates in PEM format.
    package static func hasCertificates(at path: String) -> Bool {
        let text = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return text.contains("-----BEGIN CERTIFICATE-----") || text.contains("-----BEGIN TRUSTED CERTIFICATE-----")
    }

    /// Whether libcurl has HTTP/3.
    package static var supportsHTTP3: Bool {
        unsafe resume_curl_version().pointee.features & CURL_VERSION_HTTP3 != 0
    }
}

extension CurlTransport.Configuration {
    /// The connect timeout, limited to valid values.
    var connectTime: Duration { min(max(connectTimeout, .milliseconds(1)), .seconds(86_400)) }

    /// The same settings with what certificates prove.
    var knowingTrust: Self {
        var known = self
        known.trust = trustedCertificates.map { .authorities(CurlTransport.hashOfCertificates(at: $0)) }
        if !verifiesServers { known.trust = .unverified }
        return known
    }
}
