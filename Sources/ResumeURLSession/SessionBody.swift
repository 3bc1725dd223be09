#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif
import HTTPTypes
import ResumeDownload
import ResumeHTTP
import Synchronization

/// Receives a response from URLSession and passes its body to a reader on the session's thread.
///
/// While nothing reads, that thread is blocked as soon as the mailbox is full.
final class SessionBody: ResponseBody {
    private struct State {
        var task: URLSessionTask?
        /// The number of received bytes of the body.
        var received: Int64 = 0
        /// The number of bytes announced in the head; nil if there was none.
        var announced: Int64?
        /// The number of responses before the final one (1xx).
        var interim = 0
        /// The URL that the head came from.
        var url: URL?
    }

    private let mailbox: BodyMailbox
    private let state = Mutex(State())
    /// The queue for a reader that starts after bytes were received.
    private let queue = DispatchQueue(label: "resume-store.body")
    /// The queue for calls of URLSession, which may block: on Linux all sessions of a process share one thread.
    ///
    /// A serial queue has a separate thread; concurrent queues share theirs with all tasks.
    private let calls = DispatchQueue(label: "resume-store.session")
    /// The host and port, for messages.
    ///
    /// Taken from the URL, which has no user info: the request's authority may contain a password.
    let authority: String
    private let isHead: Bool
    /// The session whose delegate decides about redirects and challenges; nil if the engine does.
    let caller: URLSession?
    /// Called once, when the task has ended.
    private let onEnd: @Sendable (SessionBody) -> Void

    init(_ request: URLRequest, caller: URLSession? = nil, onEnd: @escaping @Sendable (SessionBody) -> Void) {
        let authority = request.url.flatMap { try? DownloadURL($0).authority } ?? ""
        self.authority = authority
        isHead = request.httpMethod == "HEAD"
        self.caller = caller
        self.onEnd = onEnd
        mailbox = BodyMailbox(noHead: .cut(authority, before: "without a response"))
    }

    /// Starts the request, unless it was cancelled before.
    func start(_ makeTask: @escaping @Sendable () -> URLSessionTask) {
        calls.async {
            guard !self.mailbox.hasEnded else { return self.onEnd(self) }
            let task = makeTask()
            self.state.withLock { $0.task = task }
            task.resume()
        }
    }

    // MARK: The reader's side

    /// Waits for the head of the response; the request ends if the task is cancelled.
    func head() async throws -> HTTPResponse {
        try await withTaskCancellationHandler {
            try await mailbox.head()
        } onCancel: {
            cancel(with: CancellationError())
        }
    }

    /// The URL that the head came from, after redirects.
    var url: URL? { state.withLock(\.url) }

    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
        try await mailbox.read(reader) { _, _ in queue.async { self.mailbox.drain() } }
    }

    func pause() { mailbox.pause() }

    /// Stops the transfer and discards waiting parts.
    func cancel(with error: any Error) {
        end(with: error, drops: true)
        calls.async { self.state.withLock { $0.task }?.cancel() }
    }

    // MARK: The session's side

    /// Receives a head, which may be that of an interim response.
    func receive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        guard response.statusCode >= 200 else {
            let count = state.withLock { state in
                state.interim += 1
                return state.interim
            }
            // A change of the protocol was not requested.
            if response.statusCode == 101 || count > BodyMailbox.mostInterim {
                cancel(with: TransportError.invalid("unexpected interim responses (1xx)", from: authority))
            }
            return
        }
        // The head of a redirect is reported twice.
        guard !mailbox.hasHead else { return }
        let head = HTTPResponse(
            code: response.statusCode,
            fields: response.allHeaderFields.compactMap { name, value in
                (name as? String).flatMap { name in (value as? String).map { (name, $0) } }
            })
        let length = Representation.length(head.headerFields)
        guard length != nil || head.headerFields[.contentLength] == nil || head.headerFields[.transferEncoding] != nil
        else {
            // libcurl uses the last of several lengths, and ignores invalid ones (RFC 9112, 6.3).
            return cancel(with: TransportError.invalid("the length is not valid", from: authority))
        }
        state.withLock { state in
            state.announced = isHead || response.statusCode == 304 ? nil : length
            state.url = response.url
        }
        mailbox.add(head)
    }

    /// Receives a part, and blocks while the mailbox is full.
    func receive(_ data: Data) {
        guard !data.isEmpty else { return }
        state.withLock { $0.received += Int64(data.count) }
        guard !mailbox.add(DataPart(data: data)) else { return }
        let room = DispatchSemaphore(value: 0)
        mailbox.whenRoom { room.signal() }
        room.wait()
    }

    /// Receives the end of the task.
    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        // For a redirect without a valid destination, only the end is reported.
        if error == nil, !mailbox.hasHead, let response { receive(response) }
        let hasHead = mailbox.hasHead
        let missing = state.withLock { max(($0.announced ?? 0) - $0.received, 0) }
        if let error {
            end(with: TransportError(wrapping: error, from: authority, afterHead: hasHead))
        } else {
            end(with: missing > 0 ? TransportError.cut(authority) : nil)
        }
        state.withLock { $0.task = nil }
        onEnd(self)
    }

    private func end(with error: (any Error)?, drops: Bool = false) {
        mailbox.end(with: error, drops: drops)
        queue.async { self.mailbox.drain() }
    }

    private struct DataPart: BodyMailbox.Part {
        let data: Data

        var cost: Int { data.count }
        func read(_ body: (RawSpan) throws -> Bool) throws -> Bool { try body(data.bytes) }
    }
}
