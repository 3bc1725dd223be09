#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeDownload
import ResumeHTTP
import SwiftASN1

/// The names of a server's certificate, compared with the host of each request before the request is sent.
///
/// libcurl's own comparison also accepts common names, and wildcards above a single label.
struct LeafCertificate: Equatable {
    private let names: [CertificateName]

    /// Reads a certificate; one that cannot be read has no name.
    ///
    /// - Parameter pem: The certificate in PEM format.
    init(pem: String) {
        let base64 = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
        names = (try? Self.names(in: Data(base64Encoded: base64) ?? Data())) ?? []
    }

    /// Returns why a request must not be sent to a server with this certificate; nil if it may be.
    func problem(for url: DownloadURL) -> TransportError? {
        let server = ServerName(host: url.host)
        if names.contains(where: { $0.covers(server) }) { return nil }
        return TransportError(.tls, sentence("other-server", url.authority, validity, url.host))
    }

    private var validity: String {
        let shown = names.prefix(5).map(\.text).joined(separator: ", ")
        if names.isEmpty { return sentence("no-server-name") }
        return names.count > 5 ? "for \(shown) and \(names.count - 5) more" : "for \(shown)"
    }

    /// Reads the extension subjectAltName (RFC 5280, 4.2.1.6).
    private static func names(in certificate: Data) throws -> [CertificateName] {
        let signed = try parts(of: DER.parse(Array(certificate))).first
        for field in try signed.map(parts) ?? [] where field.identifier == context(3) {
            for one in try parts(of: field).first.map(parts) ?? [] {
                let members = try parts(of: one)
                guard let first = members.first, let last = members.last,
                    try ASN1ObjectIdentifier(derEncoded: first) == [2, 5, 29, 17]
                else { continue }
                let value = try ASN1OctetString(derEncoded: last).bytes
                return try parts(of: DER.parse(value)).compactMap { name in
                    guard case .primitive(let bytes) = name.content else { return nil }
                    if name.identifier == context(2) { return .dns(Array(bytes)) }
                    return name.identifier == context(7) ? .address(Array(bytes)) : nil
                }
            }
        }
        return []
    }

    private static func context(_ number: UInt) -> ASN1Identifier {
        ASN1Identifier(tagWithNumber: number, tagClass: .contextSpecific)
    }

    private static func parts(of node: ASN1Node) throws -> [ASN1Node] {
        guard case .constructed(let parts) = node.content else { return [] }
        return Array(parts)
    }
}
