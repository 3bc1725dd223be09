import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
public import HTTPTypes
public import ResumeDownload
import ResumeHTTP
import Synchronization

/// A transport that uses URLSession.
///
/// On Apple platforms that is the system's HTTP client with its proxies, certificates and network settings; on Linux it
/// is Foundation's, which uses libcurl. Redirects are left to the engine, and no cookies, caches or stored credentials
/// are used. URLSession decodes bodies regardless of the request, so only `Accept-Encoding: identity` is supported.
/// `docs/transports.md` lists the differences from `CurlTransport`.
public final class URLSessionTransport: Transport {
    private struct State {
        /// Sessions without a request, which keep their connections open.
        var idle: [SessionBox] = []
        /// Requests that have not ended, by the identity of their bodies.
        var live: [ObjectIdentifier: SessionBody] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())

    /// The maximum number of idle sessions; additional ones are closed.
    private static let mostIdle = 8

    /// Creates a transport with separate sessions.
    ///
    /// Call ``shutdown()`` at the end.
    public init() {}

    /// Closes the connections; running requests fail.
    public func shutdown() {
        let (live, idle) = state.withLock { state in
            state.isShutDown = true
            defer { state.idle = [] }
            return (Array(state.live.values), state.idle)
        }
        for body in live { body.cancel(with: TransportError.isShutDown) }
        for box in idle { box.session.finishTasksAndInvalidate() }
    }

    /// Sends a request; see `Transport`.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let message = try URLRequest(for: request)
        let box = state.withLock { $0.idle.popLast() } ?? SessionBox()
        let body = SessionBody(message) { [weak self] body in self?.end(body, on: box) }
        let isRefused = state.withLock { state in
            if !state.isShutDown { state.live[ObjectIdentifier(body)] = body }
            return state.isShutDown
        }
        guard !isRefused else {
            // A session retains its delegate until it is invalidated.
            box.session.finishTasksAndInvalidate()
            throw TransportError.isShutDown
        }
        box.start(message, for: body)
        return TransportResponse(head: try await body.head(), body: body)
    }

    /// Reuses a session after its task has ended.
    private func end(_ body: SessionBody, on box: SessionBox) {
        let isKept = state.withLock { state in
            state.live[ObjectIdentifier(body)] = nil
            let isKept = !state.isShutDown && state.idle.count < Self.mostIdle
            if isKept { state.idle.append(box) }
            return isKept
        }
        if !isKept { box.session.finishTasksAndInvalidate() }
    }
}

extension URLRequest {
    fileprivate init(for request: HTTPRequest) throws {
        guard let url = URL(string: try DownloadURL(of: request).absoluteString) else {
            throw TransportError(.invalidRequest, "the request has no valid URL")
        }
        let codings = request.headerFields[values: .acceptEncoding].map { $0.lowercased() }
        // It would be impossible to know whether the received bytes are those that were sent.
        guard codings == ["identity"] else {
            throw TransportError(.invalidRequest, sentence("session-codings"))
        }
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: SessionBox.longTime)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        for field in request.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    }
}
