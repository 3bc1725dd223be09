internal import AsyncHTTPClient
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import ResumeHTTP
internal import Synchronization

/// Inspects a certificate that is not trusted to find the reason.
///
/// BoringSSL's error does not contain it, and async-http-client does not expose the certificate of a failed handshake.
/// So a second connection is made that accepts any certificate, and closed before a request is sent on it.
struct CertificateProbe {
    let configuration: AsyncHTTPTransport.Configuration
    let group: MultiThreadedEventLoopGroup

    private struct IsDone: Error {}

    /// What the handshake showed.
    private final class Result: Sendable {
        let certificate = Mutex<NIOSSLCertificate?>(nil)
    }

    /// Returns why the certificate of a server is not trusted; nil if the server cannot be reached again.
    func reason(at url: DownloadURL, by route: Route, _ address: ChosenAddress?) async -> String? {
        guard let certificate = await certificate(at: url, by: route, address) else { return nil }
        let roots = configuration.trustedCertificates.map { (try? NIOSSLCertificate.fromPEMFile($0)) ?? [] }
        return certificate.reasonForDistrust(roots: roots ?? [], now: Date.now)
    }

    private func certificate(
        at url: DownloadURL, by route: Route, _ address: ChosenAddress?
    ) async -> NIOSSLCertificate? {
        let result = Result()
        // HTTP/1 even if requests use HTTP/2, since no request is sent.
        var trusting = configuration
        trusting.usesHTTP2 = false
        var encryption = TLSConfiguration(for: trusting)
        encryption.certificateVerification = .none
        guard let tls = try? NIOSSLContext(configuration: encryption) else { return nil }
        let start = SecureStart(
            to: url, by: route, tls: tls, timeout: configuration.connectTime, isVerified: false)
        var settings = HTTPClient.Configuration(for: trusting, through: route, isSecure: true, at: address)
        settings.http1_1ConnectionDebugInitializer = { channel in
            start.install(on: channel) { pipeline in
                let certificate = try pipeline.handler(type: NIOSSLHandler.self).peerCertificate
                result.certificate.withLock { $0 = certificate }
                throw IsDone()
            }
        }
        let deadline = NIODeadline.now() + (settings.timeout.connect ?? .seconds(30))
        let client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: settings)
        // Fails before the request is sent.
        _ = try? await client.execute(
            HTTPClientRequest(url: "http://\(route.authority(for: url))/"), deadline: deadline)
        try? await client.shutdown()
        return result.certificate.withLock { $0 }
    }
}

extension NIOSSLCertificate {
    /// Returns the most likely reason why a server's certificate is not trusted.
    ///
    /// - Parameters:
    ///   - roots: The trusted certificates, as far as they are known.
    ///   - now: The time of the handshake.
    /// - Returns: The end of a sentence, after a colon.
    fileprivate func reasonForDistrust(roots: [NIOSSLCertificate], now: Date) -> String {
        if subjectName == issuerName, !roots.contains(self) { return "it is self-signed" }
        let begin = Date(timeIntervalSince1970: Double(notValidBefore))
        let end = Date(timeIntervalSince1970: Double(notValidAfter))
        if now > end { return "it expired on \(Self.day(end))" }
        if now < begin { return "it is not valid before \(Self.day(begin))" }
        if !isForServers { return "its purpose is not that of a server" }
        let name = issuerName.last { $0.type == .commonName } ?? issuerName.last
        let issuer = Printable.escaped(String((name?.value ?? "without a name").prefix(100)))
        let isKnown = roots.contains { $0.subjectName == issuerName }
        return "its issuer (\(issuer)) \(isKnown ? "may not sign for it" : "is unknown, or may not sign for it")"
    }

    private static func day(_ date: Date) -> String {
        String(date.formatted(.iso8601).prefix(10))
    }

    /// Whether the extended key usage (RFC 5280, 4.2.1.12) includes servers, or there is none.
    private var isForServers: Bool {
        let usages = _extensions.first { $0.objectIdentifier == NIOSSLObjectIdentifier("2.5.29.37") }
        // id-kp-serverAuth and anyExtendedKeyUsage in DER.
        let server: [UInt8] = [0x06, 0x08, 0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01]
        let any: [UInt8] = [0x06, 0x04, 0x55, 0x1D, 0x25, 0x00]
        guard let usages else { return true }
        let bytes = Array(usages.data)
        return bytes.firstRange(of: server) != nil || bytes.firstRange(of: any) != nil
    }
}
