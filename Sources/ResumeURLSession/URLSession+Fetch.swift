#if canImport(FoundationNetworking)
import Foundation
public import FoundationNetworking
#else
public import Foundation
#endif
public import HTTPTypes
import ResumeDownload
import ResumeHTTP
public import ResumeStore
import Synchronization

extension URLSession {
    /// Sends a request for the `send` of a `fetch`, and receives no more of the body than is stored.
    ///
    /// The request runs in another session that has this session's configuration except for the cache: its proxies,
    /// cookies, credentials and additional header fields. This session's delegate decides about redirects and
    /// authentication challenges, on its queue; other methods of the delegate are not called. On Linux, Foundation
    /// delivers a response with status 401 before it asks the delegate, so challenges are not answered there: set the
    /// field `Authorization` instead.
    ///
    /// ```swift
    /// try await store.fetch(url, to: path) { fields in
    ///     try await session.fetchResponse(for: request, adding: fields)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request, with its tokens.
    ///   - fields: The fields of the store; each replaces that of the request.
    /// - Returns: The response after redirects, with its URL.
    /// - Throws: `TransportError`, `CancellationError`; `DownloadError` if URLSession decodes the body.
    public func fetchResponse(
        for request: URLRequest, adding fields: HTTPFields
    ) async throws -> FetchResponse<AsyncThrowingStream<[UInt8], any Error>> {
        var request = request
        for field in fields { request.setValue(fields[field.name], forHTTPHeaderField: field.name.rawName) }
        let box = SessionPool.take(for: self)
        let body = SessionBody(request, caller: self) { _ in SessionPool.putBack(box, for: self) }
        let reader = BodyReader(body: body)
        box.start(request, for: body)
        let head = try await body.head()
        if let coding = Representation.contentCoding(head.headerFields) {
            throw DownloadError(.refused, .decodes(coding, of: body.authority))
        }
        return FetchResponse(
            head: head, body: AsyncThrowingStream { try await reader.next() },
            url: try body.url.map { url throws(InvalidInput) in try DownloadURL(url) })
    }

    /// Reads a body part by part, and ends its request when it is released.
    private final class BodyReader: Sendable {
        private let body: SessionBody

        init(body: SessionBody) { self.body = body }

        deinit { body.cancel(with: CancellationError()) }

        /// Waits for a part; nil at the end.
        func next() async throws -> [UInt8]? {
            let part = Mutex<[UInt8]?>(nil)
            return try await withTaskCancellationHandler {
                _ = try await body.read { bytes in
                    part.withLock { $0 = unsafe bytes.withUnsafeBytes { unsafe Array($0) } }
                    return false
                }
                return part.withLock(\.self)
            } onCancel: {
                body.cancel(with: CancellationError())
            }
        }
    }

    /// Sessions with the configurations of callers' sessions, which keep their connections open between requests.
    private enum SessionPool {
        private struct Idle {
            weak var caller: URLSession?
            var boxes: [SessionBox]
        }

        private static let idle = Mutex<[ObjectIdentifier: Idle]>([:])

        /// The maximum number of idle sessions for each session of a caller.
        private static let mostIdle = 4

        static func take(for caller: URLSession) -> SessionBox {
            let (box, unused) = idle.withLock { idle in
                // An identity may be that of a later session.
                let unused = idle.filter { $0.value.caller == nil }
                for identity in unused.keys { idle[identity] = nil }
                return (idle[ObjectIdentifier(caller)]?.boxes.popLast(), unused.values.flatMap(\.boxes))
            }
            for box in unused { box.session.finishTasksAndInvalidate() }
            if let box { return box }
            let configuration = caller.configuration
            configuration.urlCache = nil
            return SessionBox(configuration)
        }

        static func putBack(_ box: SessionBox, for caller: URLSession) {
            let isKept = idle.withLock { idle in
                var boxes = idle[ObjectIdentifier(caller)]?.boxes ?? []
                guard boxes.count < mostIdle else { return false }
                boxes.append(box)
                idle[ObjectIdentifier(caller)] = Idle(caller: caller, boxes: boxes)
                return true
            }
            if !isKept { box.session.finishTasksAndInvalidate() }
        }
    }
}

extension Reason {
    fileprivate static func decodes(_ coding: String, of authority: String) -> Reason {
        Reason(.clientDecodes, sentence("session-decodes", authority, coding))
    }
}
