import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import ResumeDownload

extension TransportError {
    /// Determines the kind of error from the events before it, since URLSession's code is not sufficient: on Linux the
    /// code of a closed connection is -1 (unknown).
    ///
    /// Only the error's message is used, since the error contains the URL with its signature.
    init(wrapping error: any Error, from authority: String, afterHead: Bool) {
        let sentence = error.localizedDescription
        let text = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
        let code = (error as? URLError)?.code ?? .unknown
        switch code {
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            self.init(.tls, "the TLS connection to \(authority) failed: \(text)")
        case _ where afterHead:
            // The body is incomplete or its framing is wrong; both are detected by the missing bytes.
            self = Self.cut(authority)
        case .cannotFindHost, .dnsLookupFailed:
            self.init(.nameNotResolved, "could not resolve the host of \(authority)")
        case .cannotConnectToHost, .notConnectedToInternet, .timedOut, .internationalRoamingOff, .dataNotAllowed:
            self.init(.notConnected, "could not connect to \(authority): \(text)")
        case .networkConnectionLost:
            self = Self.cut(authority)
        case .badServerResponse, .cannotParseResponse,
            // libcurl uses the same code for an unsupported protocol and for a response that is not HTTP.
            _ where ["response", "HTTP/0.9", "header", "Content-Length"].contains(where: text.contains):
            self = .invalid(text, from: authority)
        case .badURL, .unsupportedURL:
            self.init(.invalidRequest, "cannot send the request to \(authority): \(text)")
        // libcurl reports untrusted certificates with an unspecific code.
        case _ where ["SSL", "TLS", "certificate"].contains(where: text.contains):
            self.init(.tls, "the TLS connection to \(authority) failed: \(text)")
        default:
            self.init(.other, "the request to \(authority) failed: \(text)")
        }
    }
}
