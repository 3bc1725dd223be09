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
        // libcurl uses the same code for an unsupported protocol and for a response that is not HTTP.
        case _ where code == .badServerResponse || code == .cannotParseResponse || Self.isAnswer(text):
            self = .invalid(text, from: authority)
        case .badURL, .unsupportedURL:
            self.init(.invalidRequest, "cannot send the request to \(authority): \(text)")
        case _ where Self.isTLS(text):
            self.init(.tls, "the TLS connection to \(authority) failed: \(text)")
        default:
            self.init(.other, "the request to \(authority) failed: \(text)")
        }
    }

    /// Whether the message of libcurl is about the server's response.
    private static func isAnswer(_ text: String) -> Bool {
        ["response", "HTTP/0.9", "header", "Content-Length"].contains { text.contains($0) }
    }

    /// Whether the message is about TLS; libcurl reports untrusted certificates with an unspecific code.
    private static func isTLS(_ text: String) -> Bool {
        ["SSL", "TLS", "certificate"].contains { text.contains($0) }
    }
}
