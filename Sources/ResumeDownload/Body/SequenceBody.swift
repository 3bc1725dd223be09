public import HTTPTypes
import ResumeFiles
import Synchronization

/// The body of a response as an asynchronous sequence of parts, such as that of another HTTP client.
///
/// The sequence is read by a task of the body's own, one part at a time and only while the engine has room for it.
final class SequenceBody<Parts: AsyncSequence & Sendable>: ResponseBody where Parts.Element: Sequence<UInt8> {
    private struct Part: BodyMailbox.Part {
        let bytes: [UInt8]

        var cost: Int { bytes.count }
        func read(_ body: (RawSpan) throws -> Bool) throws -> Bool { try unsafe body(bytes.span.bytes) }
    }

    private struct State {
        /// The sequence; nil once it is being read, or was cancelled.
        var parts: Parts?
        var task: Task<Void, Never>?
    }

    private let mailbox = BodyMailbox(
        noHead: TransportError(.connectionClosed, "the connection closed without a response"))
    private let state: Mutex<State>

    init(_ parts: Parts) { state = Mutex(State(parts: parts)) }

    deinit { state.withLock(\.task)?.cancel() }

    func read(_ reader: @escaping BodyMailbox.Reader) async throws -> Bool {
        try await mailbox.read(reader) { _, _ in
            state.withLock { state in
                if let parts = state.parts.take() {
                    state.task = Task { [mailbox] in await Self.move(parts, to: mailbox) }
                } else {
                    drain()
                }
            }
        }
    }

    func pause() { mailbox.pause() }

    func cancel(with error: any Error) {
        mailbox.end(with: error, drops: true)
        let task = state.withLock { state in
            state.parts = nil
            return state.task
        }
        task?.cancel()
        drain()
    }

    /// Passes on what waits; the reader may block, so not on the cooperative pool.
    private func drain() { Task { [mailbox] in try? await Blocking.run { mailbox.drain() } } }

    private static func move(_ parts: Parts, to mailbox: BodyMailbox) async {
        do {
            for try await part in parts {
                let part = Part(bytes: Array(part))
                if part.bytes.isEmpty { continue }
                if try await !Blocking.run({ mailbox.add(part) }) {
                    await withCheckedContinuation { continuation in mailbox.whenRoom { continuation.resume() } }
                }
                if mailbox.hasEnded { break }
            }
            try Task.checkCancellation()
            mailbox.end(with: nil)
        } catch {
            mailbox.end(
                with:
                    error is TransportError || error is CancellationError && Task.isCancelled
                    ? error : TransportError(.connectionClosed, "the response ended early: \(error)"))
        }
        try? await Blocking.run { mailbox.drain() }
    }

}

extension TransportResponse {
    /// Makes a response whose body is a sequence of parts: arrays, slices, `Data` or any other sequences of bytes.
    ///
    /// The sequence is read only while there is room for more, and released when the engine needs no more of it. It must
    /// throw if the body was cut short; any error but ``TransportError`` counts as a closed connection.
    ///
    /// - Parameters:
    ///   - head: The status and header fields.
    ///   - body: The body as it was sent, not decoded.
    public init<Body: AsyncSequence & Sendable>(head: HTTPResponse, body: Body)
    where Body.Element: Sequence<UInt8> {
        self.init(head: head, body: SequenceBody(body))
    }
}
