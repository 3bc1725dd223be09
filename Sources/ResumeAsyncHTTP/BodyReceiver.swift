internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import ResumeDownload
internal import Synchronization

/// Takes a response from async-http-client's event loop and hands it to a task, in batches and with back-pressure.
///
/// A task is woken once a batch, not once a buffer: a wake costs as much as writing 64 KiB does.
final class BodyReceiver: HTTPClientResponseDelegate, ResponseBody {
    typealias Response = Void

    /// A waiting reader is woken when so many bytes are there.
    private static let batch = 256 << 10
    /// A waiting reader is woken when what is there has waited so long, however little it is.
    private static let longestWait: TimeAmount = .milliseconds(5)
    /// The connection is not read while so much waits.
    private static let limit = 512 << 10

    private struct State {
        var head: HTTPResponseHead?
        var headWaiter: CheckedContinuation<HTTPResponseHead, any Error>?
        var buffers: [ByteBuffer] = []
        var count = 0
        var isFlushDue = false
        var isTimerRunning = false
        var waiter: CheckedContinuation<[any BodyBuffer]?, any Error>?
        var pressure: EventLoopPromise<Void>?
        /// nil as the error: the end that the framing announced.
        var end: (any Error)??
        var stop: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    /// Host and port, for messages.
    private let authority: String

    init(authority: String) {
        self.authority = authority
    }

    /// Hands over what cancels the request.
    func attach(_ stop: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.stop = stop
            return state.end != nil
        }
        if isOver { stop() }
    }

    // MARK: The reader's side

    /// Waits for the head of the response.
    func head() async throws -> HTTPResponseHead {
        try await withCheckedThrowingContinuation { continuation in
            let ready: Result<HTTPResponseHead, any Error>? = state.withLock { state in
                if let head = state.head { return .success(head) }
                if case .some(let error) = state.end { return .failure(error ?? Self.noResponse) }
                state.headWaiter = continuation
                return nil
            }
            if let ready { continuation.resume(with: ready) }
        }
    }

    func next() async throws -> [any BodyBuffer]? {
        try await withCheckedThrowingContinuation { continuation in
            let (ready, pressure) = state.withLock {
                state -> (Result<[any BodyBuffer]?, any Error>?, EventLoopPromise<Void>?) in
                if state.count >= Self.batch || (state.count > 0 && (state.isFlushDue || state.end != nil)) {
                    return (.success(Self.take(&state)), state.pressure.take())
                }
                if let end = state.end {
                    return (end.map { .failure($0) } ?? .success(nil), nil)
                }
                state.waiter = continuation
                return (nil, nil)
            }
            pressure?.succeed()
            if let ready { continuation.resume(with: ready) }
        }
    }

    func cancel(with error: any Error) {
        finish(error, stops: true)
    }

    private static func take(_ state: inout State) -> [any BodyBuffer] {
        let buffers = state.buffers
        state.buffers = []
        state.count = 0
        state.isFlushDue = false
        return buffers.map { NIOBodyBuffer(buffer: $0) }
    }

    private static let noResponse = TransportError(.connectionClosed, "The connection ended without a response.")

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
        let loop = task.eventLoop
        var startsTimer = false
        let (wake, pressure) = state.withLock { state -> (Wake?, EventLoopFuture<Void>?) in
            guard state.end == nil, buffer.readableBytes > 0 else { return (nil, nil) }
            state.buffers.append(buffer)
            state.count += buffer.readableBytes
            if state.count >= Self.batch, let waiter = state.waiter.take() {
                return (Wake(waiter: waiter, buffers: Self.take(&state)), nil)
            }
            if !state.isTimerRunning {
                state.isTimerRunning = true
                startsTimer = true
            }
            guard state.count >= Self.limit else { return (nil, nil) }
            let promise = loop.makePromise(of: Void.self)
            state.pressure = promise
            return (nil, promise.futureResult)
        }
        wake?.resume()
        if startsTimer { loop.scheduleTask(in: Self.longestWait) { self.flush() } }
        return pressure ?? loop.makeSucceededVoidFuture()
    }

    private struct Wake {
        let waiter: CheckedContinuation<[any BodyBuffer]?, any Error>
        let buffers: [any BodyBuffer]
        func resume() { waiter.resume(returning: buffers) }
    }

    /// What has waited long enough goes on, to a reader who waits or to the next one.
    private func flush() {
        let wake = state.withLock { state -> Wake? in
            state.isTimerRunning = false
            guard state.count > 0 else { return nil }
            guard let waiter = state.waiter.take() else {
                state.isFlushDue = true
                return nil
            }
            return Wake(waiter: waiter, buffers: Self.take(&state))
        }
        wake?.resume()
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        finish(nil, stops: false)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        finish(TransportError(wrapping: error, to: authority), stops: false)
    }

    private func finish(_ error: (any Error)?, stops: Bool) {
        var wake: Wake?
        let (headWaiter, waiter, pressure, stop) = state.withLock { state in
            let isFirst = state.end == nil
            if isFirst { state.end = .some(error) }
            if isFirst, state.count > 0, let waiter = state.waiter.take() {
                wake = Wake(waiter: waiter, buffers: Self.take(&state))
            }
            return (
                state.headWaiter.take(), state.waiter.take(), state.pressure.take(), stops ? state.stop.take() : nil
            )
        }
        wake?.resume()
        headWaiter?.resume(throwing: error ?? Self.noResponse)
        if let error { waiter?.resume(throwing: error) } else { waiter?.resume(returning: nil) }
        pressure?.succeed()
        stop?()
    }
}

/// A buffer of NIO, lent without a copy.
private struct NIOBodyBuffer: BodyBuffer {
    let buffer: ByteBuffer

    var count: Int { buffer.readableBytes }

    func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try unsafe buffer.withUnsafeReadableBytes(body)
    }
}
