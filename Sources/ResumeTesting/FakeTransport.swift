public import HTTPTypes
@_exported public import ResumeDownload
import Synchronization

/// A transport without a network, for tests: it answers from memory as a server would.
///
/// It evaluates `Range`, `If-Range` and `If-Match` (RFC 9110, 13 and 14), answers HEAD, and can cut bodies, delay
/// responses, and answer with any status first.
public final class FakeTransport: Transport {
    private struct State {
        /// The resources by path, and under nil that of all other paths.
        var resources: [String?: FakeResource] = [:]
        var requests: [HTTPRequest] = []
    }

    private let state = Mutex(State())

    /// Makes a transport.
    ///
    /// - Parameter resource: What every URL leads to that was not given another resource; nil for the status 404.
    public init(_ resource: FakeResource? = nil) { set(resource) }

    /// The requests so far, in order.
    public var requests: [HTTPRequest] { state.withLock(\.requests) }

    /// Sets or replaces what a URL leads to, also while downloads run.
    ///
    /// - Parameters:
    ///   - resource: The resource; nil for the status 404.
    ///   - path: The path of the URL with its query, such as `/a?b=c`; nil for all URLs without a resource.
    public func set(_ resource: FakeResource?, at path: String? = nil) {
        state.withLock { $0.resources[path] = resource }
    }

    /// Answers a request.
    ///
    /// - Throws: `TransportError` if the resource refuses connections; `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> TransportResponse {
        let found = state.withLock { state -> (resource: FakeResource, turn: FakeResource.Turn)? in
            state.requests.append(request)
            let path = request.path ?? "/"
            let place = state.resources[path] == nil ? nil : path
            let turn = state.resources[place]?.takeTurn(isHead: request.method == .head)
            return turn.flatMap { turn in state.resources[place].map { ($0, turn) } }
        }
        guard let (resource, turn) = found else {
            return TransportResponse(head: HTTPResponse(status: .notFound), body: Self.parts([], cut: nil))
        }
        try await Task.sleep(for: resource.delay)
        let (head, body) = resource.answer(to: request, turn)
        return TransportResponse(head: head, body: Self.parts(body, cut: turn.cut))
    }

    /// The body in parts of up to 16 KiB; throws after `cut` bytes.
    private static func parts(
        _ body: ArraySlice<UInt8>, cut: Int?
    ) -> AsyncThrowingStream<ArraySlice<UInt8>, any Error> {
        let rest = Mutex(body.prefix(cut ?? body.count))
        let isCut = (cut ?? body.count) < body.count
        return AsyncThrowingStream {
            let part = rest.withLock { rest in
                let part = rest.prefix(16 << 10)
                rest = rest.dropFirst(part.count)
                return part
            }
            if !part.isEmpty { return part }
            if isCut { throw TransportError(.connectionClosed, "the connection was cut by the test") }
            return nil
        }
    }
}
