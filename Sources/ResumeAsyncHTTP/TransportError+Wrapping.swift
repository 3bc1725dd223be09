internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import ResumeDownload

extension TransportError {
    /// Tells by its kind what async-http-client or NIO failed with.
    init(wrapping error: any Error) {
        switch error {
        case let error as TransportError:
            self = error
        case let error as NIOConnectionError:
            let noAddress = error.dnsAError != nil && error.dnsAAAAError != nil
            self =
                noAddress && error.connectionErrors.isEmpty
                ? TransportError(.nameNotResolved, "The host \(error.host) could not be found.")
                : TransportError(.notConnected, "There is no connection to \(error.host):\(error.port).")
        case let error as HTTPClientError:
            self.init(wrapping: error)
        case is HTTPParserError, is NIOHTTPDecoderError:
            self = TransportError(.invalidResponse, "The server's answer is not valid HTTP, or was cut: \(error).")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            self = TransportError(.tls, "TLS failed: \(error).")
        case let error as IOError:
            self = TransportError(.connectionClosed, "The connection failed: \(error.description).")
        case is ChannelError:
            self = TransportError(.connectionClosed, "The connection ended: \(error).")
        default:
            self = TransportError(.other, "The request failed: \(error).")
        }
    }

    private init(wrapping error: HTTPClientError) {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout, .tlsHandshakeTimeout:
            self.init(.notConnected, "The connection was not made in time.")
        case .remoteConnectionClosed, .cancelled, .readTimeout, .writeTimeout:
            self.init(.connectionClosed, "The connection ended before the answer did.")
        default:
            self.init(.other, "The request failed: \(error.description).")
        }
    }
}
