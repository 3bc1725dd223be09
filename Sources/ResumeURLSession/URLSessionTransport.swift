internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
public import HTTPTypes
public import ResumeDownload
internal import ResumeHTTP
internal import Synchronization

/// A transport over URLSession: the system's own client on Apple platforms, with its proxies, certificates and network
/// settings; on Linux Foundation's, over libcurl.
///
/// Redirects are left to the engine, and no cookie, cache or stored credential is used. URLSession decodes bodies whatever
/// it is asked for, so this one serves `Accept-Encoding: identity` only. `docs/transports.md` lists what differs from
/// `AsyncHTTPTransport`.
public final class URLSessionTransport: Transport {
    private struct State {
        /// Sessions without a request, which keep their connections.
        var idle: [SessionBox] = []
        /// Requests that are not over, by their tasks.
        var live: [ObjectIdentifier: SessionBody] = [:]
        var isShutDown = false
    }

    private let state = Mutex(State())

    /// How many sessions wait for further requests; those beyond are closed.
    private static let mostIdle = 8

    /// Makes a transport with sessions of its own.
    ///
    /// Call ``shutdown()`` at the end.
    public init() {}

    /// Closes its connections; what is still being received fails.
    public func shutdown() {
        let (live, idle) = state.withLock { state in
            state.isShutDown = true
            defer { state.idle = [] }
            return (Array(state.live.values), state.idle)
        }
        for body in live { body.cancel(with: Self.isShutDown) }
        for box in idle { box.session.finishTasksAndInvalidate() }
    }

    /// Sends a request; see `Transport`.
    ///
    /// - Throws: `TransportError`, `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let message = try URLRequest(for: request)
        let box = state.withLock { $0.idle.popLast() } ?? SessionBox()
        // Of the URL, which has no user info: the request's authority may have a password.
        let authority = message.url.flatMap { try? DownloadURL($0.absoluteString).authority } ?? ""
        let body = SessionBody(authority: authority, isHead: request.method == .head) { [weak self] body in
            self?.end(body, on: box)
        }
        let isRefused = state.withLock { state in
            if !state.isShutDown { state.live[ObjectIdentifier(body)] = body }
            return state.isShutDown
        }
        guard !isRefused else {
            // A session keeps its delegate until it is told to end.
            box.session.finishTasksAndInvalidate()
            throw Self.isShutDown
        }
        box.start(message, for: body)
        return try await withTaskCancellationHandler {
            TransportResponse(head: try await body.head(), body: body)
        } onCancel: {
            body.cancel(with: CancellationError())
        }
    }

    /// Takes a session back when its task is over.
    private func end(_ body: SessionBody, on box: SessionBox) {
        let isKept = state.withLock { state in
            state.live[ObjectIdentifier(body)] = nil
            let isKept = !state.isShutDown && state.idle.count < Self.mostIdle
            if isKept { state.idle.append(box) }
            return isKept
        }
        if !isKept { box.session.finishTasksAndInvalidate() }
    }

    private static let isShutDown = TransportError(.invalidRequest, "the transport has been shut down")
}

extension URLRequest {
    fileprivate init(for request: HTTPRequest) throws {
        guard let scheme = request.scheme, let authority = request.authority, let path = request.path,
            let url = try? DownloadURL("\(scheme)://\(authority)\(path)"), let url = URL(string: url.absoluteString)
        else { throw TransportError(.invalidRequest, "the request has no valid URL") }
        let codings = request.headerFields[values: .acceptEncoding].map { $0.lowercased() }
        // What came could be told from what was sent by nobody.
        guard codings == ["identity"] else {
            throw TransportError(
                .invalidRequest, "URLSession decodes response bodies and supports only 'Accept-Encoding: identity'")
        }
        self.init(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: SessionBox.longTime)
        httpMethod = request.method.rawValue
        httpShouldHandleCookies = false
        for field in request.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    }
}
