import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import Synchronization

#if os(Linux)
@unsafe @preconcurrency import Dispatch
#else
import Dispatch
#endif

/// A request and its response, between the task that sends it and the network thread that performs it.
final class Exchange: ResponseBody {
    let request: HTTPRequest
    let url: DownloadURL
    /// The proxy that the request goes through; nil for none.
    let proxy: ProxySettings.Server?
    /// The server for messages: host, port and proxy.
    let authority: String
    /// The cookies that the request sends, and that its response changes.
    let jar: CookieJar?
    let presentsCertificate = CookieJar.isAtCallersOrigin
    /// How many bytes of heads and bodies were received.
    let delivered = Atomic(0)

    private struct State {
        var isPaused = false
        /// The thread that performs it, once it does.
        var thread: NetworkThread?
        /// When it began, or the last interim response arrived, by ``Ticker/now``.
        var lastSign: Duration?
        /// Why the exchange failed, as far as another thread has seen it.
        var failure: TransportError?
        /// Where a reader runs while the network thread receives; most small bodies need none.
        var readers: DispatchQueue?
    }

    private let mailbox: BodyMailbox
    private let state = Mutex(State())
    let queue: Queue
    private let isDrainQueued = Atomic(false)

    init(
        _ request: HTTPRequest, to url: DownloadURL, by proxy: ProxySettings.Server?, _ jar: CookieJar?,
        in queue: Queue
    ) {
        self.request = request
        self.url = url
        self.proxy = proxy
        self.jar = jar
        self.queue = queue
        let authority = proxy.map { "\(url.authority) via the proxy \($0.authority)" } ?? url.authority
        self.authority = authority
        mailbox = BodyMailbox(noHead: .cut(authority, before: "without a response"))
    }

    // MARK: The reader's side

    /// Waits for the head of the response.
    ///
    /// - Parameter timeout: The maximum time without an interim response; nil for any.
    /// - Returns: The head.
    /// - Throws: `TransportError`, `CancellationError`.
    func head(within timeout: Duration?) async throws -> HTTPResponse {
        let stop = timeout.map { timeout in
            let interval = max(Duration.seconds(timeout.components.seconds >> 3), .milliseconds(50))
            return Ticker.shared.every(min(timeout, interval)) { [self] in
                guard let sign = state.withLock(\.lastSign), Ticker.now - sign >= timeout else { return }
                cancel(with: TransportError.late(url.authority, timeout))
            }
        }
        defer { stop?() }
        return try await withCancellation {
            try await mailbox.head()
        } onCancel: {
            cancel(with: CancellationError())
        }
    }

    func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
        // The queue of a transfer may block, but not the main thread or the cooperative pool.
        let mayBlock = Self.mayBlock()
        return try await mailbox.read(reader) { hasEnded, isEmpty in
            if hasEnded, isEmpty || mayBlock { mailbox.drain() } else if !isEmpty || hasEnded { drainLater() }
        }
    }

    private static func mayBlock(_ actor: isolated (any Actor)? = #isolation) -> Bool { actor is any BlockingActor }

    func pause() { mailbox.pause() }

    /// Stops the transfer and drops waiting parts.
    func cancel(with error: any Error) {
        mailbox.end(with: error, drops: true)
        // Nothing is left to read, so no reader is called.
        mailbox.drain()
        state.withLock(\.thread)?.post(.cancel(self))
    }

    // MARK: The network's side

    /// Begins on a thread.
    ///
    /// - Returns: Whether the thread has not been stopped.
    func start(on thread: NetworkThread) -> Bool {
        state.withLock { ($0.thread, $0.lastSign) = (thread, Ticker.now) }
        return thread.post(.start(self))
    }

    /// Whether the response has ended, or was cancelled.
    var hasEnded: Bool { mailbox.hasEnded }

    /// Whether libcurl was told to pause.
    var isPaused: Bool {
        get { state.withLock(\.isPaused) }
        set { state.withLock { $0.isPaused = newValue } }
    }

    /// Why the exchange failed, as far as another thread has seen it.
    var failure: TransportError? { state.withLock(\.failure) }

    /// Records why the exchange fails, before its connection is ended.
    func fail(_ error: TransportError) { state.withLock { $0.failure = $0.failure ?? error } }

    /// Records an interim response.
    func noteSign() { state.withLock { $0.lastSign = Ticker.now } }

    func add(_ head: HTTPResponse) { mailbox.add(head) }

    /// Adds bytes of the body, of which a part holds so many.
    ///
    /// - Returns: Whether there is room for more.
    func add(_ bytes: UnsafeRawBufferPointer, inPartsOf capacity: Int, from pool: PartPool) -> Bool {
        mailbox.append(
            extending: { part in unsafe (part as? Part)?.append(bytes) ?? false },
            making: { unsafe Part(bytes, capacity: capacity, from: pool) })
    }

    /// Calls the reader with what has arrived, if it waits for it.
    func passOn() {
        if mailbox.isAwaited { drainLater() }
    }

    /// Continues the transfer as soon as there is room.
    func resumeWhenRoom() {
        mailbox.whenRoom { [self] in state.withLock(\.thread)?.post(.resume(self)) }
    }

    func end(with error: TransportError?) {
        mailbox.end(with: error)
        if mailbox.isAwaited { drainLater() }
    }

    private func drainLater() {
        guard !isDrainQueued.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let readers = state.withLock { state in
            state.readers = state.readers ?? DispatchQueue(label: "resume-store.body")
            return state.readers
        }
        readers?.async { [self] in
            isDrainQueued.store(false, ordering: .releasing)
            mailbox.drain()
        }
    }

    /// A part of a body, in memory that parts use again.
    @safe
    final class Part: BodyMailbox.Part {
        private let pool: PartPool
        private nonisolated(unsafe) let memory: UnsafeMutableRawPointer
        /// How many bytes there are; grows under the lock of the mailbox, and not while they are read.
        private nonisolated(unsafe) var count: Int
        /// How many bytes there is room for; the part of a short body has memory of its own.
        let cost: Int

        init(_ bytes: UnsafeRawBufferPointer, capacity: Int, from pool: PartPool) {
            self.pool = pool
            cost = max(capacity, bytes.count)
            unsafe memory = cost < PartPool.size ? .allocate(byteCount: cost, alignment: 16) : pool.take()
            unsafe count = bytes.count
            unsafe UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyMemory(from: bytes)
        }

        deinit { if cost < PartPool.size { unsafe memory.deallocate() } else { unsafe pool.give(memory) } }

        /// Appends bytes.
        ///
        /// - Returns: Whether there was room for all of them.
        func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
            guard unsafe count + bytes.count <= cost else { return false }
            unsafe UnsafeMutableRawBufferPointer(start: memory + count, count: bytes.count).copyMemory(from: bytes)
            unsafe count += bytes.count
            return true
        }

        func read(_ body: (RawSpan) throws -> Bool) throws -> Bool {
            try body(unsafe UnsafeRawBufferPointer(start: memory, count: count).bytes)
        }
    }

    /// Memory of parts that were read, for the next ones: fresh memory costs a page fault for each 4 KiB.
    final class PartPool: Sendable {
        /// The size of a part, in bytes; libcurl passes at most as much at a time.
        static let size = 256 << 10
        /// How many unused ones are kept.
        private static let mostKept = 8

        @safe
        private struct Memory: @unsafe @unchecked Sendable { let address: UnsafeMutableRawPointer }

        private let kept = Mutex<[Memory]>([])

        func take() -> UnsafeMutableRawPointer {
            if let memory = kept.withLock({ $0.popLast() }) { return unsafe memory.address }
            return UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: 16)
        }

        func give(_ address: UnsafeMutableRawPointer) {
            let memory = unsafe Memory(address: address)
            let isKept = kept.withLock { kept in
                guard kept.count < Self.mostKept else { return false }
                kept.append(memory)
                return true
            }
            if !isKept { unsafe address.deallocate() }
        }

        deinit { for memory in kept.withLock({ $0 }) { unsafe memory.address.deallocate() } }
    }
}
