internal import ResumeHTTP
internal import ResumeStore

/// Many downloads with one store: so many at a time, the newest first, each resource once whoever asks for it.
///
/// ```swift
/// let queue = try await DownloadQueue.open(downloader)
/// let result = try await queue.download(DownloadRequest(url, to: "image.jpg"))
/// ```
///
/// Requests with the same ``DownloadRequest/storeKey`` are one download: each caller gets result, progress and errors,
/// and each destination its file. What waits, runs or is paused stands in the store and is there again when the queue is
/// opened by a later process: see ``resumeRestored(_:)``. What is cancelled softly is remembered by this process only;
/// what came of it lies in the store all the same.
///
/// A paused download is one whose task has ended: what came is kept, and it goes on with a range. The store's collector
/// removes it only where nothing else is left to make room; then ``report()`` says so.
public actor DownloadQueue {
    /// What a queue may be told.
    public struct Configuration: Sendable {
        /// What names the queue in its store; only one of a name can be open at a time, in all processes.
        public var name: String
        /// Which of two downloads with the same priority runs first.
        public var order: QueueOrder
        /// How many run at a time, at least 1; beside them, small files that have been received are brought to disk.
        public var maximumRunning: Int
        /// The highest rate of all downloads together, in bytes a second; nil for no limit.
        public var rateLimit: Int64?
        /// Told of each download that was delivered or failed, with its key.
        ///
        /// It is the only one to be told where nobody waits for the download.
        public var onFinish: (@Sendable (String, Result<DownloadResult, any Error>) -> Void)?

        /// Makes a configuration; the defaults are four at a time, last in, first out, with no limit on the rate.
        public init(
            name: String = "default", order: QueueOrder = .lastInFirstOut, maximumRunning: Int = 4,
            rateLimit: Int64? = nil, onFinish: (@Sendable (String, Result<DownloadResult, any Error>) -> Void)? = nil
        ) {
            self.name = name
            self.order = order
            self.maximumRunning = maximumRunning
            self.rateLimit = rateLimit
            self.onFinish = onFinish
        }
    }

    /// What the state machine does not need to know of an item.
    struct Live {
        var url: String
        /// By the number of the delivery.
        var deliveries: [Int: LiveDelivery] = [:]
        let listeners: Listeners
        let limiter = RateLimiter(bytesPerSecond: nil)
        var task: Task<Void, Never>?
        /// What its last run was started with, and the number of that request for its delivery.
        var begun: (request: DownloadRequest, version: Int)?
        var announcing: Task<Void, Never>?
        var sign: WaitingSign?
        /// Why its last run was stopped.
        var interruption: Interruption?
        var failure: Reason?

        /// Sets the limit on the rate: the lowest that is asked for.
        func limit() {
            limiter.setRate(deliveries.values.compactMap(\.request?.rateLimit).filter { $0 > 0 }.min())
        }
    }

    /// What the state machine does not need to know of a delivery; it goes with it.
    struct LiveDelivery {
        /// nil where an earlier process left it and could not keep that.
        var request: DownloadRequest?
        /// How many requests there were for it.
        var version = 0
        /// The row as it was recorded.
        var row: QueuedRequest?
        /// How often it was delivered, each time with the row that it had.
        var rowsDelivered = 0
    }

    /// A caller who waits for an answer.
    struct Waiter {
        var key: String
        var continuation: CheckedContinuation<DownloadResult, any Error>
    }

    let downloader: Downloader
    let configuration: Configuration
    let lease: QueueLease
    let limiter: RateLimiter
    var state: QueueState
    var live: [String: Live] = [:]
    var waiters: [QueueState.Caller: Waiter] = [:]
    /// What runs once its row is recorded.
    var starts: [(key: String, run: QueueState.Run)] = []
    /// Numbers of rows to be taken away.
    var removals: Set<Int64> = []
    /// Keys whose rows could not be recorded the last time.
    var unrecorded: Set<String> = []
    var isSettling = false
    /// Those who wait until what they asked for is recorded.
    var recording: [CheckedContinuation<Void, any Error>] = []
    var idle: [Int: CheckedContinuation<Void, Never>] = [:]
    var lastIdle = 0
    /// How many ends of downloads are being told.
    var telling = 0
    var drops: [String: [CheckedContinuation<Void, Never>]] = [:]
    /// What an earlier process left, each with the number of its delivery.
    var left: [(delivery: Int, download: RestoredDownload)] = []
    /// How many bytes the collector removed since they ran last, by key, as far as is known.
    var evicted: [String: Int64] = [:]
    /// Whether the lease is given back.
    var isReleased = false
    private var lastCaller: QueueState.Caller = 0

    /// Opens the queue of a name.
    ///
    /// What an earlier process left is listed in ``restored`` and waits for ``resumeRestored(_:)``, or for a request.
    ///
    /// - Parameters:
    ///   - downloader: What runs one download; its store keeps the queue.
    ///   - configuration: Name, order and limits.
    /// - Returns: The queue. Close it at the end.
    /// - Throws: `StoreError`, with `inUse` where a queue of that name is open in this process or another.
    public static func open(
        _ downloader: Downloader, configuration: Configuration = Configuration()
    ) async throws -> DownloadQueue {
        let lease = try await downloader.store.leaseQueue(named: configuration.name)
        let left = try await downloader.store.queued(in: lease)
        return DownloadQueue(downloader, configuration, lease, left)
    }

    private init(
        _ downloader: Downloader, _ configuration: Configuration, _ lease: QueueLease, _ left: [QueuedRequest]
    ) {
        self.downloader = downloader
        self.configuration = configuration
        self.lease = lease
        limiter = RateLimiter(bytesPerSecond: configuration.rateLimit)
        var state = QueueState(order: configuration.order, maximumRunning: configuration.maximumRunning)
        (live, self.left) = Self.restore(left, into: &state)
        self.state = state
    }

    /// Downloads one file when it is its turn.
    ///
    /// Cancelling the task takes this caller out and leaves the others alone; with the last one the download is
    /// cancelled softly.
    ///
    /// - Parameters:
    ///   - request: What, to where, how. Where there is a request for the same download and destination already, the
    ///     newer one counts from its next start on. If one is running that does not answer this one, since it has other
    ///     fields, no digest or a higher limit, this one runs after it.
    ///   - priority: How much it matters. It raises that of the download, and does not lower it.
    ///   - isForced: Pauses everything else, and runs alone until it is done. A later forced one takes its place.
    ///   - onEvent: Told what happens, in order; the download waits for it to return. Where this has thrown, since the
    ///     caller left or the download was cancelled, the event of that moment may still be told.
    /// - Returns: Where the file is, and how much of it was held before.
    /// - Throws: What ``Downloader/download(_:onEvent:)`` throws; ``QueueError`` where the queue is closed, the download
    ///   is cancelled, or the request contradicts another one.
    public func download(
        _ request: DownloadRequest, priority: QueuePriority = .normal, isForced: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        lastCaller += 1
        let caller = lastCaller
        return try await withTaskCancellationHandler {
            try await answer(
                to: caller, request, priority: priority, isForced: isForced, onEvent: onEvent)
        } onCancel: {
            Task { await self.leave(caller) }
        }
    }

    /// Downloads one file when it is its turn, told step by step, as ``Downloader/events(_:)`` tells.
    ///
    /// - Parameters:
    ///   - request: What, to where, how.
    ///   - priority: How much it matters.
    ///   - isForced: Pauses everything else, and runs alone until it is done.
    /// - Returns: The events, in order. Leaving the loop early takes this caller out.
    public nonisolated func events(
        _ request: DownloadRequest, priority: QueuePriority = .normal, isForced: Bool = false
    ) -> AsyncThrowingStream<DownloadEvent, any Error> {
        AsyncThrowingStream(of: { onEvent in
            _ = try await self.download(request, priority: priority, isForced: isForced, onEvent: onEvent)
        })
    }

    /// Takes downloads that nobody waits for, all of them before one is started; returns when they are recorded.
    ///
    /// Each is taken as if it was asked for after the one before it: in a stack the last one runs first.
    /// ``Configuration/onFinish`` is told of each; one that fails stays, paused, or failed where that is for good.
    ///
    /// - Parameters:
    ///   - requests: What, to where, how.
    ///   - priority: How much they matter.
    /// - Throws: ``QueueError`` where the queue is closed or a request contradicts another one, `StoreError` where they
    ///   cannot be recorded: then none is taken.
    public func add(_ requests: [DownloadRequest], priority: QueuePriority = .normal) async throws {
        var additions: [QueueState.Addition] = []
        var earlier: [String: [DownloadRequest]] = [:]
        for request in requests {
            let addition = try checked(request, priority: priority)
            for other in earlier[addition.key] ?? [] { try request.requireAgreement(with: other) }
            earlier[addition.key, default: []].append(request)
            additions.append(addition)
        }
        take(Array(zip(requests, additions)))
        try await recorded()
    }

    private func answer(
        to caller: QueueState.Caller, _ request: DownloadRequest, priority: QueuePriority, isForced: Bool,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) async throws -> DownloadResult {
        let addition = try checked(request, caller: caller, priority: priority, isForced: isForced)
        return try await withCheckedThrowingContinuation { continuation in
            enlist(continuation, request, addition, onEvent)
        }
    }

    private func enlist(
        _ continuation: CheckedContinuation<DownloadResult, any Error>, _ request: DownloadRequest,
        _ addition: QueueState.Addition, _ onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) {
        guard let caller = addition.caller, !Task.isCancelled else {
            return continuation.resume(throwing: CancellationError())
        }
        waiters[caller] = Waiter(key: addition.key, continuation: continuation)
        take([(request, addition)])
        if let delivery = number(of: addition) {
            live[addition.key]?.listeners.add(caller, to: delivery, onEvent)
        }
    }

    private func leave(_ caller: QueueState.Caller) { step { $0.leave(caller) } }
}
