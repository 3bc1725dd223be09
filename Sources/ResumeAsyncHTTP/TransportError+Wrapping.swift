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
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            self.init(.nameNotResolved, "could not resolve the host \(error.host)")
        case let error as NIOConnectionError:
            self.init(wrapping: error.connectionErrors[0].error, to: authority)
        case let error as IOError:
            let unreachable = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENETDOWN, EHOSTDOWN]
            let isConnected = !unreachable.contains(error.errnoCode)
            self.init(
                isConnected ? .connectionClosed : .notConnected,
                "could not \(isConnected ? "receive from" : "connect to") \(authority): \(SystemError.reason(error.errnoCode))"
            )
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self.init(wrappingTLS: "\(error)", to: authority)
        case let error as HTTPParserError where error == .invalidEOFState: self = Self.cut(authority)
        case is HTTPParserError, is NIOHTTPDecoderError: self = Self.invalid("\(error)", from: authority)
        case ChannelError.connectTimeout: self.init(.notConnected, "timed out while connecting to \(authority)")
        case is ChannelError: self = Self.cut(authority)
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
}
#endif
