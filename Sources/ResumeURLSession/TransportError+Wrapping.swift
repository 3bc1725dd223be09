internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import ResumeDownload

extension TransportError {
    /// Tells by what happened what URLSession failed with: its codes alone do not, on Linux a cut is -1, unknown.
    ///
    /// Of the error only its words are used, since it carries the URL with its signature.
    init(wrapping error: any Error, afterHead: Bool) {
        let text = error.localizedDescription
        let code = (error as? URLError)?.code ?? .unknown
        switch code {
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRejected,
            .clientCertificateRequired:
            self.init(.tls, "TLS failed: \(text).")
        case _ where afterHead:
            // A body is cut, or its framing is wrong; both are found out by the bytes that are missing.
            self = Self.cut
        case .cannotFindHost, .dnsLookupFailed:
            self.init(.nameNotResolved, "The host could not be found.")
        case .cannotConnectToHost, .notConnectedToInternet, .timedOut, .internationalRoamingOff, .dataNotAllowed:
            self.init(.notConnected, "There is no connection to the server: \(text).")
        case .networkConnectionLost:
            self = Self.cut
        case .badServerResponse, .cannotParseResponse:
            self.init(.invalidResponse, "The server's answer is not valid HTTP: \(text).")
        case .badURL, .unsupportedURL:
            // libcurl's code for a protocol that it does not know is that for an answer in none, as well.
            self =
                Self.isAnswer(text)
                ? TransportError(.invalidResponse, "The server's answer is not valid HTTP: \(text).")
                : TransportError(.invalidRequest, "The request cannot be sent: \(text).")
        case _ where Self.isTLS(text):
            self.init(.tls, "TLS failed: \(text).")
        default:
            self.init(.other, "The request failed: \(text).")
        }
    }

    static let cut = TransportError(.connectionClosed, "The connection ended before the answer did.")

    /// libcurl's words where it was the server that spoke.
    private static func isAnswer(_ text: String) -> Bool {
        ["response", "HTTP/0.9", "header"].contains { text.contains($0) }
    }

    /// libcurl's words for a certificate that is not trusted come under the code for anything.
    private static func isTLS(_ text: String) -> Bool {
        ["SSL", "TLS", "certificate"].contains { text.contains($0) }
    }
}
