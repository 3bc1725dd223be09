import ResumeHTTP
import ResumeStore

/// A queue of downloads in one store: runs a fixed number at a time, newest first, and each resource only once.
///
/// ```swift
/// let queue = try await DownloadQueue.open(downloader)
/// let result = try await queue.download(DownloadRequest(url, to: "image.jpg"))
/// ```
///
/// Requests with the same key share one download: each caller gets the result, progress and
/// errors, and each destination gets the file. Downloads that wait, run or are paused are recorded in the store and
/// restored when a later process opens the queue; see ``resumeRestored(_:)``. Softly cancelled downloads are
/// remembered by this process only, but their partial data stays in the store.
///
/// A paused download has no running task. Its partial data is kept, and it continues with a range request. The store's
/// collector removes that data only if nothing else is left to make room; ``report()`` shows it.
public actor DownloadQueue {
    /// The settings of a queue.
    public struct Configuration: Sendable {
        /// The name of the queue in its store.
        ///
        /// Only one queue of a name can be open at a time, across all processes.
        public var name: String
        /// Which of two downloads with the same priority runs first.
        public var order: Order
        /// How many downloads run at a time, at least 1.
        ///
        /// Small files that have been received and are being committed do not count.
        public var maximumRunning: Int
        /// How many downloads run at a time of each host, at least 1; nil for no limit.
        ///
        /// Each download counts for the host of its URL, even if that redirects to another host.
        public var maximumPerHost: Int?
        /// The rate limit for all downloads together, in bytes per second; nil for no limit.
        public var rateLimit: Int64?
        /// Called with the key and the result of each download that was delivered or failed.
        ///
        /// For downloads without a waiting caller, this is the only notification.
        public var onFinish: (@Sendable (String, Result<DownloadResult, any Error>) -> Void)?

        /// Makes a configuration; by default, four downloads run at a time, last in, first out, without other limits.
        public init(
            name: String = "default", order: Order = .lastInFirstOut, maximumRunning: Int = 4,
            maximumPerHost: Int? = nil, rateLimit: Int64? = nil,
            onFinish: (@Sendable (String, Result<DownloadResult, any Error>) -> Void)? = nil
        ) {
            self.name = name
            self.order = order
            self.maximumRunning = maximumRunning
            self.maximumPerHost = maximumPerHost
            self.rateLimit = rateLimit
            self.onFinish = onFinish
        }
    }

    let downloader: Downloader
    let configuration: Configuration
    let table: JobTable
    let limiter: RateLimiter
    var state: QueueState
    /// The callers that wait for an answer.
    var waiters: [QueueState.Caller: (key: String, continuation: CheckedContinuation<DownloadResult, any Error>)] = [:]
    /// The keys of runs that begin as soon as their rows are recorded.
    var unstarted: [String] = []
    /// The keys whose rows could not be recorded the last time.
    var unrecorded: Set<String> = []
    var isSettling = false
    /// Callers that wait until their requests are recorded.
    var recording: [CheckedContinuation<Void, any Error>] = []
    /// The calls that wait for the queue to be idle.
    var idle: [Int: AsyncStream<Void>.Continuation] = [:]
    /// How many calls of `onFinish` are pending.
    var telling = 0
    /// Whether the queue is open to others.
    var isReleased = false

    /// Opens a queue.
    ///
    /// Downloads of an earlier process are listed in ``restored`` and wait for ``resumeRestored(_:)`` or a new request.
    ///
    /// - Parameters:
    ///   - downloader: Runs the individual downloads; its store keeps the queue.
    ///   - configuration: The name, order and limits.
    /// - Returns: The queue. Close it at the end.
    /// - Throws: `StoreError`, with `inUse` if a queue of that name is open in this or another process.
    public static func open(
        _ downloader: Downloader, configuration: Configuration = Configuration()
    ) async throws -> DownloadQueue {
        let table = try await downloader.store.jobTable(named: configuration.name, isShared: false)
        let left = try await table.queued()
        return DownloadQueue(downloader, configuration, table, left)
    }

    private init(
        _ downloader: Downloader, _ configuration: Configuration, _ table: JobTable, _ left: [Job]
    ) {
        self.downloader = downloader
        self.configuration = configuration
        self.table = table
        limiter = RateLimiter(bytesPerSecond: configuration.rateLimit)
        state = QueueState(
            order: configuration.order, maximumRunning: configuration.maximumRunning,
            maximumPerHost: configuration.maximumPerHost)
        Self.restore(left, into: &state)
    }

    /// Downloads one file when it is its turn.
    ///
    /// Cancelling the task removes this caller without affecting others. When the last caller is removed, the download
    /// is cancelled softly.
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how. If there already is a request for the same download and
    ///     destination, the newer one applies from the next start on. If a running download does not answer the new
    ///     request, because it has other fields, lacks a digest or has a higher limit, the new request runs after it.
    ///   - priority: The priority. It can raise that of an existing download but does not lower it.
    ///   - isExclusive: Pauses everything else and runs this download alone until it is done. A later forced download
    ///     replaces it.
    ///   - onEvent: Called with each event, in order; the download waits for it to return. After this method has thrown
    ///     because of a cancellation, one more event may still be delivered.
    /// - Returns: The path of the file, and how many of its bytes had been received before.
    /// - Throws: The errors of ``Downloader/download(_:onEvent:)``; `DownloadError` if the queue is closed, the download
    ///   is cancelled, or the request conflicts with another one.
    public func download(
        _ request: DownloadRequest, priority: Priority = .normal, isExclusive: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        let caller = state.newNumber()
        return try await withTaskCancellationHandler {
            let addition = try checked(request, caller: caller, priority: priority, isExclusive: isExclusive)
            return try await withCheckedThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiters[caller] = (addition.key, continuation)
                take([addition])
                if let item = state.items[addition.key], let delivery = item.delivery(to: addition.destination) {
                    item.listeners.add(caller, to: delivery.number, onEvent)
                }
            }
        } onCancel: {
            Task { await self.leave(caller) }
        }
    }

    /// Downloads one file when it is its turn and returns the same events as ``Downloader/events(_:)``.
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how.
    ///   - priority: The priority.
    ///   - isExclusive: Pauses everything else and runs this download alone until it is done.
    /// - Returns: The events, in order. Leaving the loop early removes this caller.
    public nonisolated func events(
        _ request: DownloadRequest, priority: Priority = .normal, isExclusive: Bool = false
    ) -> some AsyncSequence<DownloadEvent, any Error> & Sendable {
        DownloadEvents { onEvent in
            _ = try await self.download(request, priority: priority, isExclusive: isExclusive, onEvent: onEvent)
        }
    }

    /// Adds downloads without a waiting caller, all of them before any is started.
    ///
    /// Returns when they are recorded.
    ///
    /// Requests count as made one after the other, so with last-in-first-out the last one runs first.
    /// ``Configuration/onFinish`` is called for each. A download that fails stays in the queue: paused, or failed if
    /// the failure is permanent.
    ///
    /// - Parameters:
    ///   - requests: What to download, where to, and how.
    ///   - priority: The priority of all of them.
    /// - Throws: `DownloadError` if the queue is closed or a request conflicts with another one, `StoreError` if they
    ///   cannot be recorded. Then none is added.
    public func add(_ requests: [DownloadRequest], priority: Priority = .normal) async throws {
        var additions: [QueueState.Addition] = []
        var earlier: [String: [DownloadRequest]] = [:]
        for request in requests {
            let addition = try checked(request, priority: priority)
            for other in earlier[addition.key] ?? [] { try request.requireAgreement(with: other) }
            earlier[addition.key, default: []].append(request)
            additions.append(addition)
        }
        take(additions)
        try await recorded()
    }

    private func leave(_ caller: QueueState.Caller) {
        if let waiter = waiters[caller] { step { $0.leave(caller, of: waiter.key) } }
    }
}
