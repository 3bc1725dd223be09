internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTP2
internal import NIOPosix
internal import NIOSSL
internal import ResumeDownload
internal import ResumeFiles

extension TransportError {
    /// Maps an error of async-http-client or NIO to a code and a message.
    init(wrapping error: any Error, to authority: String) {
        switch error {
        case let error as TransportError:
            // Thrown by a channel handler, which does not know the host.
            self =
                switch error.code {
                case .invalidResponse: Self.invalid(error.message, from: authority)
                case .addressNotPermitted:
                    TransportError(error.code, "could not connect to \(authority): \(error.message)")
                default: error
                }
        case let error as NIOConnectionError:
            let noAddress = error.dnsAError != nil && error.dnsAAAAError != nil
            self =
                noAddress && error.connectionErrors.isEmpty
                ? TransportError(.nameNotResolved, "could not resolve the host \(error.host)")
                : Self.notConnected(to: authority, error.connectionErrors.first?.error as? IOError)
        case let error as HTTPClientError:
            self.init(wrapping: error, to: authority)
        case let error as HTTPParserError where error == .invalidEOFState:
            self = Self.cut(authority)
        case let error as HTTPParserError where error == .headerOverflow:
            // NIO's limits.
            self.init(
                .invalidResponse,
                "the response header from \(authority) exceeds 256 fields, 80 KiB in a field, or 2 MiB in total"
            )
        case is HTTPParserError, is NIOHTTPDecoderError:
            self = Self.invalid("\(error)", from: authority)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            let text = "\(error)"
            if !Self.cuts.contains(where: text.contains) {
                self.init(.tls, Self.tlsText(text, authority))
            } else if text.hasPrefix("handshakeFailed") {
                self.init(.connectionClosed, "the TLS handshake with \(authority) was cut")
            } else {
                self = Self.cut(authority)
            }
        case let error as IOError:
            let unreachable = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENETDOWN, EHOSTDOWN]
            self =
                unreachable.contains(error.errnoCode)
                ? Self.notConnected(to: authority, error)
                : TransportError(
                    .connectionClosed, "the connection to \(authority) failed: \(SystemError.reason(error.errnoCode))")
        case let error as NIOHTTP2Errors.StreamClosed:
            self.init(
                .connectionClosed,
                "the response from \(authority) was cut: HTTP/2 stream closed with error code \(error.errorCode.networkCode)"
            )
        case is ChannelError:
            self.init(.connectionClosed, "the connection to \(authority) closed: \(error)")
        default:
            self.init(.other, "the request to \(authority) failed: \(error)")
        }
    }

    /// What the errors contain after TLS ends with FIN, RST or the alert `internal_error`: the server is restarting or
    /// overloaded.
    private static let cuts = [
        "EOF during", "uncleanShutdown", "zeroReturn", "syscallError", "ALERT_INTERNAL_ERROR",
    ]

    private static func notConnected(to authority: String, _ error: IOError?) -> TransportError {
        let cause = error.map { ": \(SystemError.reason($0.errnoCode))" } ?? ""
        return TransportError(.notConnected, "could not connect to \(authority)\(cause)")
    }

    /// Whether a certificate was not trusted, for a reason that BoringSSL's error does not contain.
    func isDistrust(of authority: String) -> Bool {
        code == .tls && message == Self.distrust(of: authority)
    }

    private static func distrust(of authority: String) -> String { "the certificate of \(authority) is not trusted" }

    /// Extracts the reason from an error of BoringSSL, which also lists places in its source.
    private static func tlsText(_ error: String, _ authority: String) -> String {
        if error.contains("CERTIFICATE_VERIFY_FAILED") { return distrust(of: authority) }
        if error.contains("WRONG_VERSION_NUMBER") { return "\(authority) does not use TLS" }
        return "the TLS connection to \(authority) failed: \(error)"
    }

    private init(wrapping error: HTTPClientError, to authority: String) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            self.init(.notConnected, "timed out while connecting to \(authority)")
        case .proxyAuthenticationRequired:
            self.init(
                .proxyRefused,
                "could not connect to \(authority): the proxy requires credentials (407); add them to its URL")
        case .invalidProxyResponse:
            self.init(.proxyRefused, "could not connect to \(authority): the proxy refused the request")
        case .remoteConnectionClosed, .cancelled, .readTimeout, .writeTimeout:
            self = Self.cut(authority)
        default:
            self.init(.other, "the request to \(authority) failed: \(error.description)")
        }
    }
}
