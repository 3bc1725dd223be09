#if AsyncHTTP && Engine
import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import ResumeDownload
import ResumeFiles

extension TransportError {
    /// Maps an error of async-http-client or NIO to a code and a message.
    init(wrapping error: any Error, to authority: String) {
        switch error {
        case let error as TransportError: self = error
        case let error as DownloadError: self.init(.invalidRequest, error.reason.text)
        case let error as HTTPClientError: self.init(wrapping: error, to: authority)
        case let error as NIOConnectionError:
            let noAddress = error.dnsAError != nil && error.dnsAAAAError != nil
            self =
                noAddress && error.connectionErrors.isEmpty
                ? TransportError(.nameNotResolved, "could not resolve the host \(error.host)")
                : Self.notConnected(to: authority, error.connectionErrors.first?.error as? IOError)
        case let error as IOError:
            let unreachable = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENETDOWN, EHOSTDOWN]
            self =
                unreachable.contains(error.errnoCode)
                ? Self.notConnected(to: authority, error)
                : TransportError(
                    .connectionClosed, "the connection to \(authority) failed: \(SystemError.reason(error.errnoCode))")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self.init(wrappingTLS: "\(error)", to: authority)
        case let error as HTTPParserError where error == .invalidEOFState: self = Self.cut(authority)
        case is HTTPParserError, is NIOHTTPDecoderError: self = Self.invalid("\(error)", from: authority)
        case is ChannelError:
            self.init(.connectionClosed, "the connection to \(authority) closed: \(error)")
        default:
            self.init(.other, "the request to \(authority) failed: \(error)")
        }
    }

    /// Reads the text of an error, which also lists places in the source of BoringSSL.
    private init(wrappingTLS text: String, to authority: String) {
        // A server that restarts or is overloaded ends TLS with FIN, RST or the alert `internal_error`.
        let cuts = ["EOF during", "uncleanShutdown", "zeroReturn", "syscallError", "ALERT_INTERNAL_ERROR"]
        if cuts.contains(where: text.contains) {
            self = Self.cut(authority)
        } else if text.contains("CERTIFICATE_VERIFY_FAILED") {
            self.init(.tls, "the certificate of \(authority) is not trusted")
        } else {
            self.init(.tls, "the TLS connection to \(authority) failed: \(text)")
        }
    }

    private init(wrapping error: HTTPClientError, to authority: String) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            self.init(.notConnected, "timed out while connecting to \(authority)")
        case .proxyAuthenticationRequired, .invalidProxyResponse:
            self.init(.proxyRefused, "the proxy refused to connect to \(authority): \(error.description)")
        case .remoteConnectionClosed, .readTimeout, .writeTimeout: self = Self.cut(authority)
        case .alreadyShutdown: self = .isShutDown
        default:
            self.init(.other, "the request to \(authority) failed: \(error.description)")
        }
    }

    private static func notConnected(to authority: String, _ error: IOError?) -> TransportError {
        let cause = error.map { ": \(SystemError.reason($0.errnoCode))" } ?? ""
        return TransportError(.notConnected, "could not connect to \(authority)\(cause)")
    }
}
#endif
