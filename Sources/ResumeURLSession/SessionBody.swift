#if os(Linux)
@unsafe @preconcurrency internal import Dispatch
#else
internal import Dispatch
#endif
internal import Foundation
#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif
internal import HTTPTypes
internal import ResumeDownload
internal import ResumeHTTP
internal import Synchronization

/// Takes a response from URLSession and hands its body to a reader, on the thread that tells of it.
///
/// While nobody reads, that thread is held up as soon as ``limit`` bytes wait.
final class SessionBody: ResponseBody {
    typealias Reader = @Sendable (RawSpan) throws -> Bool

    fileprivate struct State {
        var head: HTTPResponse?
        var headWaiter: CheckedContinuation<HTTPResponse, any Error>?
        var parts = PartQueue()
        var reader: Reader?
        var waiter: CheckedContinuation<Bool, any Error>?
        /// nil as the error: the end that the framing announced.
        var end: (any Error)??
        var task: URLSessionTask?
        /// Bytes of the body that came, handed over or not.
        var received: Int64 = 0
        /// How many the head announced; nil where it did not.
        var announced: Int64?
        /// Answers before the final one (1xx).
        var interim = 0
    }

    private static let limit = 1 << 20
    /// Servers send one or two.
    private static let mostInterim = 100

    private let state = Mutex(State())
    /// One reader at a time: whoever has something to hand over does it here.
    private let queue = DispatchQueue(label: "resume-store.body")
    /// Where URLSession is called, since that may wait: on Linux all sessions of a process share one thread.
    ///
    /// A queue in series has a thread of its own; concurrent ones share theirs with all tasks.
    private let calls = DispatchQueue(label: "resume-store.session")
    /// Told where a thread may wait for room.
    private let room = DispatchSemaphore(value: 0)
    /// Host and port, for messages.
    private let authority: String
    private let isHead: Bool
    /// Told once, when the task is over.
    private let onEnd: @Sendable (SessionBody) -> Void

    init(authority: String, isHead: Bool, onEnd: @escaping @Sendable (SessionBody) -> Void) {
        self.authority = authority
        self.isHead = isHead
        self.onEnd = onEnd
    }

    /// Starts the request, unless it has been cancelled by then.
    func start(_ makeTask: @escaping @Sendable () -> URLSessionTask) {
        calls.async {
            guard self.state.withLock({ $0.end == nil }) else { return self.onEnd(self) }
            let task = makeTask()
            self.state.withLock { $0.task = task }
            task.resume()
        }
    }

    // MARK: The reader's side

    /// Waits for the head of the response.
    func head() async throws -> HTTPResponse {
        try await withCheckedThrowingContinuation { continuation in
            let ready: Result<HTTPResponse, any Error>? = state.withLock { state in
                if let head = state.head { return .success(head) }
                if case .some(let error) = state.end { return .failure(error ?? noResponse) }
                state.headWaiter = continuation
                return nil
            }
            if let ready { continuation.resume(with: ready) }
        }
    }

    func read(_ reader: @escaping Reader) async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            state.withLock { state in
                state.reader = reader
                state.waiter = continuation
            }
            queue.async { self.drain() }
        }
    }

    /// Stops the transfer; what has come and was not handed over is dropped.
    func cancel(with error: any Error) {
        end(with: error, drops: true)
        calls.async { self.state.withLock { $0.task }?.cancel() }
        queue.async { self.drain() }
    }

    private var noResponse: TransportError {
        TransportError(.connectionClosed, "the connection to \(authority) closed without a response")
    }

    // MARK: The session's side

    /// Takes a head, which may be that of an interim answer.
    func receive(_ response: URLResponse) {
        guard let answer = response as? HTTPURLResponse else { return }
        guard answer.statusCode >= 200 else {
            let count = state.withLock { state in
                state.interim += 1
                return state.interim
            }
            // Nobody asked to change the protocol.
            if answer.statusCode == 101 || count > Self.mostInterim {
                cancel(with: TransportError.invalid("unexpected interim responses (1xx)", from: authority))
            }
            return
        }
        let head = HTTPResponse(answer)
        let length = Representation(fields: head.headerFields).completeLength
        guard length != nil || head.headerFields[.contentLength] == nil || head.headerFields[.transferEncoding] != nil
        else {
            // libcurl takes the last of several, and passes over what is no number (RFC 9112, 6.3).
            return cancel(with: TransportError.invalid("the length is not valid", from: authority))
        }
        let waiter = state.withLock { state -> CheckedContinuation<HTTPResponse, any Error>? in
            // That of a redirect is told twice.
            if state.head != nil { return nil }
            state.head = head
            state.announced = isHead || answer.statusCode == 304 ? nil : length
            return state.headWaiter.take()
        }
        waiter?.resume(returning: head)
    }

    /// Takes a part, hands it over if somebody reads, and waits while too much waits.
    func receive(_ data: Data) {
        guard !data.isEmpty else { return }
        queue.sync {
            state.withLock { state in
                guard state.end == nil else { return }
                state.received += Int64(data.count)
                state.parts.append(data)
            }
            drain()
        }
        while state.withLock({ $0.parts.count >= Self.limit && $0.end == nil }) { room.wait() }
    }

    /// Takes the end of the task.
    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        // A redirect to nowhere is told of by its end alone.
        if error == nil, state.withLock({ $0.head == nil }), let response { receive(response) }
        let (hasHead, missing) = state.withLock { state in
            (state.head != nil, max((state.announced ?? 0) - state.received, 0))
        }
        if let error {
            end(with: TransportError(wrapping: error, from: authority, afterHead: hasHead))
        } else {
            end(with: !hasHead ? noResponse : missing > 0 ? TransportError.cut(authority) : nil)
        }
        queue.async { self.drain() }
        state.withLock { $0.task = nil }
        onEnd(self)
    }

    private func end(with error: (any Error)?, drops: Bool = false) {
        let headWaiter = state.withLock { state in
            if drops { state.parts = PartQueue() }
            // What is dropped has not come to its end, even if that is known already.
            let isWhole = if case .some(nil) = state.end { true } else { false }
            if state.end == nil || (drops && isWhole) { state.end = .some(error) }
            return state.headWaiter.take()
        }
        headWaiter?.resume(throwing: error ?? noResponse)
        room.signal()
    }

    /// What to do next with what is there.
    fileprivate enum Step {
        case hand(Data, to: Reader)
        case resume(CheckedContinuation<Bool, any Error>, Result<Bool, any Error>)
        case nothing
    }

    /// Hands over what is there while there is a reader; on the queue only.
    private func drain() {
        while true {
            switch state.withLock({ $0.next() }) {
            case .hand(let data, let reader): hand(data, to: reader)
            case .resume(let waiter, let result): waiter.resume(with: result)
            case .nothing: return
            }
        }
    }

    private func hand(_ data: Data, to reader: Reader) {
        let mayGoOn = Result { try reader(data.bytes) }
        let waiter = state.withLock { state -> CheckedContinuation<Bool, any Error>? in
            if case .success(true) = mayGoOn { return nil }
            state.reader = nil
            return state.waiter.take()
        }
        room.signal()
        // Where the reader said stop, there is more to read.
        waiter?.resume(with: mayGoOn.map { !$0 })
    }
}

extension SessionBody.State {
    /// Decides on the next step; what came before the end is handed over before it.
    fileprivate mutating func next() -> SessionBody.Step {
        guard let reader else { return .nothing }
        if let part = parts.popFirst() { return .hand(part, to: reader) }
        guard case .some(let error) = end, let waiter = waiter.take() else { return .nothing }
        self.reader = nil
        return .resume(waiter, error.map { .failure($0) } ?? .success(false))
    }
}
