internal import AsyncHTTPClient
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import ResumeDownload
internal import ResumeFiles
internal import Synchronization

private struct BufferPart: BodyPart {
    let buffer: ByteBuffer

    /// A part uses more memory than its bytes, such as the padding of an HTTP/2 frame, and many parts have one byte.
    var cost: Int { buffer.readableBytes + 256 }
    func read(_ body: (RawSpan) throws -> Bool) throws -> Bool { try body(buffer.readableBytesSpan) }
}

/// Receives a response from async-http-client and passes its body to a reader on the event loop.
///
/// The reader blocks the loop while it writes, which gives ideal back-pressure: the bytes are still in the processor's
/// cache, nothing is queued, and no other thread is woken. The loops belong to the transport.
final class BodyReceiver: HTTPClientResponseDelegate, ResponseBody {
    typealias Response = Void

    private let mailbox: BodyMailbox
    private let task = Mutex<HTTPClient.Task<Void>?>(nil)
    /// The host and port, for messages.
    private let authority: String
    /// Called once, when the response has ended.
    private let onEnd: @Sendable (BodyReceiver) -> Void

    init(authority: String, onEnd: @escaping @Sendable (BodyReceiver) -> Void) {
        self.authority = authority
        self.onEnd = onEnd
        mailbox = BodyMailbox(noHead: .cut(authority, before: "without a response"))
    }

    /// Sets the request's task.
    func attach(_ task: HTTPClient.Task<Void>) {
        self.task.withLock { $0 = task }
        // The transport has been shut down in between.
        if mailbox.hasEnded { task.cancel() }
    }

    // MARK: The reader's side

    /// Waits for the head of the response.
    func head() async throws -> HTTPResponse { try await mailbox.head() }

    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
        // The queue of a transfer may block, but not the main thread or the cooperative pool.
        let mayBlock = Self.mayBlock()
        return try await mailbox.read(reader) { hasEnded, isEmpty in
            // After the end, the event loop may have been shut down.
            if !hasEnded {
                task.withLock { $0 }?.eventLoop.execute { self.mailbox.drain() }
            } else if isEmpty || mayBlock {
                mailbox.drain()
            } else {
                NIOSingletons.posixBlockingThreadPool.submit { _ in self.mailbox.drain() }
            }
        }
    }

    private static func mayBlock(_ actor: isolated (any Actor)? = #isolation) -> Bool { actor is any BlockingActor }

    /// Stops the transfer and drops waiting parts.
    func cancel(with error: any Error) {
        end(with: error, drops: true)
        task.withLock { $0 }?.cancel()
    }

    // MARK: The event loop's side

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        let fields = head.headers.lazy.map { ($0.name, $0.value) }
        mailbox.add(
            HTTPResponse(code: Int(head.status.code), phrase: head.status.reasonPhrase, fields: fields))
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        if buffer.readableBytes == 0 || mailbox.add(BufferPart(buffer: buffer)) {
            return task.eventLoop.makeSucceededVoidFuture()
        }
        let promise = task.eventLoop.makePromise(of: Void.self)
        mailbox.whenRoom { promise.succeed() }
        return promise.futureResult
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {
        end(with: nil)
    }

    func didReceiveError(task: HTTPClient.Task<Void>, _ error: any Error) {
        end(with: TransportError(wrapping: error, to: authority))
    }

    private func end(with error: (any Error)?, drops: Bool = false) {
        if mailbox.end(with: error, drops: drops) { onEnd(self) }
        mailbox.drain()
    }
}
