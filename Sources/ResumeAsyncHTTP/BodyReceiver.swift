internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ResumeDownload
internal import Synchronization

/// Takes a response from async-http-client and hands its body to a reader on the event loop itself.
///
/// The reader blocks the loop while it writes, which is the best back-pressure there is: the bytes are still in the
/// processor's cache, nothing is queued, and no other thread is woken. The loops are the transport's own.
final class BodyReceiver: HTTPClientResponseDelegate, ResponseBody {
    typealias Response = Void
    typealias Reader = @Sendable (RawSpan) throws -> Bool

    fileprivate struct State {
        var head: HTTPResponseHead?
        var headWaiter: CheckedContinuation<HTTPResponseHead, any Error>?
        /// What came while nobody read.
        var parts: CircularBuffer<ByteBuffer> = []
        /// What `parts` take, of which there may be as many as bytes; see ``BodyReceiver/cost(of:)``.
        var count = 0
        var reader: Reader?
        var waiter: CheckedContinuation<Bool, any Error>?
        /// Whether the reader is in a call, so that it must not be told of anything else yet.
        var isReading = false
        var pressure: EventLoopPromise<Void>?
        /// nil as the error: the end that the framing announced.
        var end: (any Error)??
        var task: HTTPClient.Task<Void>?
    }

    /// The client is held back while so much waits, which is about what one turn of its loop brings.
    ///
    /// Sooner would be dear: what the client itself holds is lost when the connection is cut.
    private static let limit = 1 << 20

    /// The memory of a part: its bytes, and what it keeps beside them, such as the padding of a frame of HTTP/2.
    fileprivate static func cost(of part: ByteBuffer) -> Int { part.readableBytes + 256 }

    private let state = Mutex(State())
    /// Host and port, for messages.
    private let authority: String
    /// Told once, when nothing more can come.
    private let onEnd: @Sendable (BodyReceiver) -> Void

    init(authority: String, onEnd: @escaping @Sendable (BodyReceiver) -> Void) {
        self.authority = authority
        self.onEnd = onEnd
    }

    /// Hands over the request's task.
    func attach(_ task: HTTPClient.Task<Void>) {
        let isOver = state.withLock { state in
            state.task = task
            return state.end != nil
        }
        // The transport was shut down meanwhile.
        if isOver { task.cancel() }
    }

    // MARK: The reader's side

    /// Waits for the head of the response.
    func head() async throws -> HTTPResponseHead {
        try await withCheckedThrowingContinuation { continuation in
            let ready: Result<HTTPResponseHead, any Error>? = state.withLock { state in
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
            let (loop, isOver, isEmpty) = state.withLock { state in
                state.reader = reader
                state.waiter = continuation
                return (state.task?.eventLoop, state.end != nil, state.parts.isEmpty)
            }
            // After the end the loop may be gone, and this thread must not block.
            if !isOver {
                loop?.execute { self.drain() }
            } else if isEmpty {
                drain()
            } else {
                NIOSingletons.posixBlockingThreadPool.submit { _ in self.drain() }
            }
        }
    }

    /// Stops the transfer; what has come and was not handed over is dropped.
    func cancel(with error: any Error) {
        end(with: error, drops: true)
        state.withLock { $0.task }?.cancel()
    }

    private var noResponse: TransportError {
        TransportError(.connectionClosed, "the connection to \(authority) closed without a response")
    }

    // MARK: The event loop's side

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let waiter = state.withLock { state in
            state.head = head
            return state.headWaiter.take()
        }
        waiter?.resume(returning: head)
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        state.withLock { state in
            guard state.end == nil, buffer.readableBytes > 0 else { return }
            state.parts.append(buffer)
            state.count += Self.cost(of: buffer)
        }
        drain()
        return state.withLock { state in
            if state.count < Self.limit || state.end != nil { return task.eventLoop.makeSucceededVoidFuture() }
            let promise = task.eventLoop.makePromise(of: Void.self)
            state.pressure = promise
            return promise.futureResult
        }
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        end(with: nil)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        end(with: TransportError(wrapping: error, to: authority))
    }

    private func end(with error: (any Error)?, drops: Bool = false) {
        let (isFirst, headWaiter) = state.withLock { state in
            if drops { (state.parts, state.count) = ([], 0) }
            let isFirst = state.end == nil
            // What is dropped has not come to its end, even if that is known already.
            let isWhole = if case .some(nil) = state.end { true } else { false }
            if isFirst || (drops && isWhole) { state.end = .some(error) }
            return (isFirst, state.headWaiter.take())
        }
        headWaiter?.resume(throwing: error ?? noResponse)
        if isFirst { onEnd(self) }
        drain()
    }

    /// What to do next with what is there.
    fileprivate enum Step {
        case hand(ByteBuffer, to: Reader)
        case resume(CheckedContinuation<Bool, any Error>, Result<Bool, any Error>)
        case relieve(EventLoopPromise<Void>)
        case nothing
    }

    /// Hands over what is there while there is a reader: on the event loop, unless there is only an end to tell.
    private func drain() {
        while true {
            switch state.withLock({ $0.next() }) {
            case .hand(let buffer, let reader): hand(buffer, to: reader)
            case .resume(let waiter, let result): waiter.resume(with: result)
            case .relieve(let pressure): pressure.succeed()
            case .nothing: return
            }
        }
    }

    private func hand(_ buffer: ByteBuffer, to reader: Reader) {
        let mayGoOn = Result { try reader(buffer.readableBytesSpan) }
        let waiter = state.withLock { state -> CheckedContinuation<Bool, any Error>? in
            state.isReading = false
            if case .success(true) = mayGoOn { return nil }
            state.reader = nil
            return state.waiter.take()
        }
        // Where the reader said stop, there is more to read.
        waiter?.resume(with: mayGoOn.map { !$0 })
    }
}

extension BodyReceiver.State {
    /// Decides on the next step; what came before the end is handed over before it.
    fileprivate mutating func next() -> BodyReceiver.Step {
        if isReading { return .nothing }
        if end != nil, let pressure = pressure.take() { return .relieve(pressure) }
        guard let reader else { return .nothing }
        if let part = parts.popFirst() {
            count -= BodyReceiver.cost(of: part)
            isReading = true
            return .hand(part, to: reader)
        }
        if let pressure = pressure.take() { return .relieve(pressure) }
        guard case .some(let error) = end, let waiter = waiter.take() else { return .nothing }
        self.reader = nil
        return .resume(waiter, error.map { .failure($0) } ?? .success(false))
    }
}
