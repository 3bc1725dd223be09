internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import ResumeDownload

extension TransportError {
    /// Tells by what happened what URLSession failed with: its codes alone do not, on Linux a cut is -1, unknown.
    ///
    /// Of the error only its words are used, since it carries the URL with its signature.
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
            // A body is cut, or its framing is wrong; both are found out by the bytes that are missing.
            self = Self.cut(authority)
        case .cannotFindHost, .dnsLookupFailed:
            self.init(.nameNotResolved, "could not resolve the host of \(authority)")
        case .cannotConnectToHost, .notConnectedToInternet, .timedOut, .internationalRoamingOff, .dataNotAllowed:
            self.init(.notConnected, "could not connect to \(authority): \(text)")
        case .networkConnectionLost:
            self = Self.cut(authority)
        case .badServerResponse, .cannotParseResponse:
            self = .invalid(text, from: authority)
        case .badURL, .unsupportedURL:
            // libcurl's code for a protocol that it does not know is that for an answer in none, as well.
            self =
                Self.isAnswer(text)
                ? .invalid(text, from: authority)
                : TransportError(.invalidRequest, "cannot send the request to \(authority): \(text)")
        case _ where Self.isTLS(text):
            self.init(.tls, "the TLS connection to \(authority) failed: \(text)")
        default:
            self.init(.other, "the request to \(authority) failed: \(text)")
        }
    }

    static func cut(_ authority: String) -> TransportError {
        TransportError(.connectionClosed, "the connection to \(authority) closed before the response was complete")
    }

    static func invalid(_ problem: String, from authority: String) -> TransportError {
        TransportError(.invalidResponse, "invalid HTTP response from \(authority): \(problem)")
    }

    /// libcurl's words where it was the server that spoke.
    private static func isAnswer(_ text: String) -> Bool {
        ["response", "HTTP/0.9", "header"].contains { text.contains($0) }
    }

    /// libcurl's words for a certificate that is not trusted come under the code for anything.
    private static func isTLS(_ text: String) -> Bool {
        ["SSL", "TLS", "certificate"].contains { text.contains($0) }
    }
}
