internal import AsyncHTTPClient
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import ResumeDownload

extension TransportError {
    /// Tells by its kind what async-http-client or NIO failed with.
    init(wrapping error: any Error, to authority: String) {
        switch error {
        case let error as TransportError:
            self = error
        case let error as NIOConnectionError:
            let noAddress = error.dnsAError != nil && error.dnsAAAAError != nil
            self =
                noAddress && error.connectionErrors.isEmpty
                ? TransportError(.nameNotResolved, "The host \(error.host) could not be found.")
                : TransportError(.notConnected, "There is no connection to \(authority).")
        case let error as HTTPClientError:
            self.init(wrapping: error)
        case let error as HTTPParserError where error == .invalidEOFState:
            self = Self.cut
        case let error as HTTPParserError where error == .headerOverflow:
            // NIO's limits.
            self = TransportError(
                .invalidResponse,
                "The header of the server's answer is too long: more than 256 fields, 80 KiB in one, or 2 MiB in all.")
        case is HTTPParserError, is NIOHTTPDecoderError:
            self = TransportError(.invalidResponse, "The server's answer is not valid HTTP: \(error).")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self = TransportError(.tls, Self.tlsText("\(error)"))
        case let error as IOError:
            let unreachable = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ENETDOWN, EHOSTDOWN]
            self =
                unreachable.contains(error.errnoCode)
                ? TransportError(
                    .notConnected, "There is no connection to \(authority): \(Self.text(error.errnoCode)).")
                : TransportError(.connectionClosed, "The connection failed: \(Self.text(error.errnoCode)).")
        case is ChannelError:
            self = TransportError(.connectionClosed, "The connection ended: \(error).")
        default:
            self = TransportError(.other, "The request failed: \(error).")
        }
    }

    private static let cut = TransportError(.connectionClosed, "The connection ended before the answer did.")

    /// What BoringSSL tells among places in its source.
    private static func tlsText(_ error: String) -> String {
        if error.contains("CERTIFICATE_VERIFY_FAILED") { return "The server's certificate is not trusted." }
        if error.contains("WRONG_VERSION_NUMBER") { return "The server does not speak TLS on this port." }
        return "TLS failed: \(error)."
    }

    private static func text(_ number: CInt) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    private init(wrapping error: HTTPClientError) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            self.init(.notConnected, "The connection was not made in time.")
        case .proxyAuthenticationRequired:
            self.init(.proxyRefused, "The proxy asks for credentials (407); name them in its URL.")
        case .invalidProxyResponse:
            self.init(.proxyRefused, "The proxy does not let the request through.")
        case .remoteConnectionClosed, .cancelled, .readTimeout, .writeTimeout:
            self = Self.cut
        default:
            self.init(.other, "The request failed: \(error.description).")
        }
    }
}
