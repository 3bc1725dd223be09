#if AsyncHTTP && Engine
public import AsyncHTTPClient
public import HTTPTypes
import NIOCore
import NIOHTTP1
public import ResumeDownload
import ResumeHTTP
import Synchronization

/// A transport that sends its requests with an application's own `HTTPClient`, so that both share its connections,
/// proxies and limits.
///
/// The client must not follow redirects (`redirectConfiguration = .disallow`) nor decode bodies
/// (`decompression = .disabled`). Its settings cannot be read: the first response for which it does either fails with
/// `TransportError` of `invalidRequest`.
///
/// It cannot guarantee what `CurlTransport` of the module `ResumeCurl` does:
///
/// - limits for malformed and endless heads, and the rules of RFC 9525 for certificates;
/// - a check of each address (`permitsAddress`), and of what the connection proves about the server;
/// - all received bytes after a connection ends early: the client drops what it has not passed on;
/// - the reason for which there is no connection, unless the client's `retryConnectionEstablishment` is false.
///
/// Timeouts of the client count as dropped connections.
public final class AsyncHTTPTransport: Transport {
    private let client: HTTPClient
    private let isShutDown = Atomic(false)

    /// Makes a transport that uses a client.
    ///
    /// - Parameter client: The client, which ``shutdown()`` leaves open. Shut it down when it is no longer used.
    public init(client: HTTPClient) { self.client = client }

    /// Refuses further requests; running ones continue, and the client stays open.
    public func shutdown() { isShutDown.store(true, ordering: .relaxed) }

    /// Sends a request as `Transport` requires.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        guard !isShutDown.load(ordering: .relaxed) else { throw TransportError.isShutDown }
        let url = try DownloadURL(of: request)
        var message = HTTPClientRequest(url: url.absoluteString)
        message.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headerFields { message.headers.add(name: field.name.rawName, value: field.value) }
        let translate: @Sendable (any Error) -> any Error = { error in
            // A cancelled request has different errors, depending on its state.
            if Task.isCancelled || error is CancellationError { return CancellationError() }
            return TransportError(wrapping: error, to: url.authority)
        }
        let response: HTTPClientResponse
        do {
            response = try await client.execute(message, deadline: .distantFuture)
        } catch {
            throw translate(error)
        }
        guard response.history.count <= 1 else {
            throw TransportError(
                .invalidRequest,
                "the HTTPClient of the application follows redirects; create it with redirectConfiguration = .disallow")
        }
        let head = HTTPResponse(response)
        return TransportResponse(head: head, body: HTTPClientBody(response, head, translate))
    }
}
#else
/// Needs the trait `AsyncHTTP`, which is disabled by default, and `Engine`.
@available(*, unavailable, message: "enable the traits 'AsyncHTTP' and 'Engine' of the package resume-store")
public final class AsyncHTTPTransport {}
#endif
