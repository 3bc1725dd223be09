import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import ResumeDownload
import Testing

@testable import ResumeAsyncHTTP

/// How the errors of async-http-client are reported.
@Suite(.timeLimit(.minutes(2)))
struct ErrorTests {
    /// A client's error, and the error that the caller gets for it.
    struct Case: Sendable, CustomTestStringConvertible {
        let error: any Error
        let code: TransportError.Code
        let text: String

        init(_ error: any Error, _ code: TransportError.Code, _ text: String) {
            (self.error, self.code, self.text) = (error, code, text)
        }

        var testDescription: String { "\(error)" }
    }

    private static let timedOut = "timed out while connecting to h:1"
    private static let cut = "the connection to h:1 closed before the response was complete"

    @Test(
        "Each error has a code, the host, and a message",
        arguments: [
            Case(HTTPClientError.connectTimeout, .notConnected, timedOut),
            Case(HTTPClientError.tlsHandshakeTimeout, .notConnected, timedOut),
            Case(HTTPClientError.getConnectionFromPoolTimeout, .notConnected, timedOut),
            Case(HTTPClientError.httpProxyHandshakeTimeout, .notConnected, timedOut),
            Case(HTTPClientError.socksHandshakeTimeout, .notConnected, timedOut),
            Case(
                HTTPClientError.proxyAuthenticationRequired, .proxyRefused,
                "the proxy refused to connect to h:1: HTTPClientError.proxyAuthenticationRequired"),
            Case(HTTPClientError.remoteConnectionClosed, .connectionClosed, cut),
            Case(HTTPClientError.readTimeout, .connectionClosed, cut),
            Case(HTTPClientError.alreadyShutdown, .invalidRequest, "the transport has been shut down"),
            Case(
                HTTPClientError.bodyLengthMismatch, .other,
                "the request to h:1 failed: HTTPClientError.bodyLengthMismatch"),
            Case(HTTPParserError.invalidEOFState, .connectionClosed, cut),
            Case(HTTPParserError.headerOverflow, .invalidResponse, "invalid HTTP response from h:1: "),
            Case(NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])), .connectionClosed, cut),
            Case(NIOSSLError.uncleanShutdown, .connectionClosed, cut),
            Case(BoringSSLError.zeroReturn, .connectionClosed, cut),
            Case(NIOSSLExtraError.failedToValidateHostname, .tls, "the TLS connection to h:1 failed: "),
            Case(
                IOError(errnoCode: ECONNREFUSED, reason: "connect"), .notConnected,
                "could not connect to h:1: Connection refused"),
            Case(
                IOError(errnoCode: ECONNRESET, reason: "read"), .connectionClosed,
                "could not receive from h:1: Connection reset by peer"),
            Case(ChannelError.ioOnClosedChannel, .connectionClosed, cut),
            Case(TransportError(.stalled, "nothing came"), .stalled, "nothing came"),
        ])
    func mapped(example: Case) {
        let error = TransportError(wrapping: example.error, to: "h:1")
        #expect(error.code == example.code)
        #expect(error.message.hasPrefix(example.text), "\(error.message)")
    }
}
