import ResumeHTTP
import ResumeStore

extension QueueState {
    /// The state that an item should reach: `waiting` is to run when it is its turn, and `downloading` is none.
    typealias Wish = DownloadQueue.Report.State

    /// A destination of an item.
    struct Delivery {
        /// Unique: a delivery that was cancelled and is requested again gets a new number.
        let number: Int
        let destination: String
        var callers: [Caller] = []
        /// Whether it is wanted even if no caller waits for it.
        var isKept = false
        /// nil if an earlier process left it and the request could not be stored.
        var request: DownloadRequest?
        /// How many requests have been made for it.
        var version = 0
        /// The row as last recorded.
        var row: Job?
        /// How often it was delivered; each time, its row was removed.
        var rowsDelivered = 0
        /// Whether an earlier process left it and it has not been resumed or requested since.
        var isRestored = false
        /// Whether it failed and waits until the other deliveries have been tried.
        var hasFailed = false
        /// Why it failed permanently; nil if it did not.
        var failure: Reason?

        var isReady: Bool { request != nil }
        /// Whether it can run when it is its turn.
        var isNext: Bool { isReady && !hasFailed && failure == nil }
        var isWanted: Bool { isKept || !callers.isEmpty }

        /// Removes and returns the callers that already waited when a run began.
        mutating func takeCallers(of run: Run) -> [Caller] {
            defer { callers.removeAll(where: run.callers.contains) }
            return callers.filter(run.callers.contains)
        }
    }

    /// One attempt at a delivery.
    struct Run: Hashable {
        /// Its number among all of the queue, also in ``QueueState/slots``.
        let number: Int64
        /// The number of the delivery.
        let delivery: Int
        /// The callers that waited for it at the start.
        let callers: Set<Caller>
        var isStopping = false
        /// Whether the item is removed as soon as the run has ended.
        var isLast = false
    }

    /// One download.
    struct Item {
        var place: Line.Place
        var wish: Wish
        var run: Run?
        var deliveries: [Delivery] = []
        // What follows is kept for the queue.
        /// The URL of the latest request.
        var url = ""
        var listeners = Listeners()
        /// The task of the run, and the request that it was started with, which has the reason for stopping it, and its
        /// version; nil until the row of the run is recorded.
        var work: (task: Task<Void, Never>, request: DownloadRequest, version: Int)?
        /// The calls that wait until its partial data is removed.
        var drops: [CheckedContinuation<Void, Never>] = []
        /// The bytes that the collector removed since the last run, as far as known.
        var evictedBytes: Int64 = 0
        var announcing: Task<Void, Never>?
        var sign: WaitingSign?
        /// Why the last run failed.
        var lastFailure: Reason?

        var key: Key { place.key }
        /// The request of any delivery; they have the same key.
        var request: DownloadRequest? { deliveries.lazy.compactMap(\.request).first }
        /// The lowest rate that is requested.
        var rateLimit: Int64? { deliveries.compactMap(\.request?.rateLimit).filter { $0 > 0 }.min() }
        /// The next delivery to run.
        var next: Delivery? { deliveries.first(where: \.isNext) }
        var isInLine: Bool { wish == .waiting && run == nil && next != nil }
        /// Whether it runs or waits to run.
        var isUnderWay: Bool { wish == .waiting && hasWork }
        /// Whether it has a run or a delivery that can run.
        var hasWork: Bool { run != nil || next != nil }
        var isRunning: Bool { run?.isStopping == false }
        var callers: [Caller] { deliveries.flatMap(\.callers) }
        /// Why it, or the first of its failed deliveries, failed permanently.
        var failure: Reason? { deliveries.lazy.compactMap(\.failure).first }

        /// The delivery with a number; a new one is the last.
        subscript(number: Int) -> Delivery? {
            get { deliveries.first { $0.number == number } }
            set {
                guard let newValue else { return }
                if let index = deliveries.firstIndex(where: { $0.number == number }) {
                    deliveries[index] = newValue
                } else {
                    deliveries.append(newValue)
                }
            }
        }

        /// Sets the request of a delivery; the old digest and rate limit stay if the new request has none.
        mutating func give(_ request: DownloadRequest, to delivery: Delivery) {
            var delivery = delivery
            delivery.request = request
            delivery.request?.digest = request.digest ?? self[delivery.number]?.request?.digest
            delivery.request?.rateLimit = request.rateLimit ?? self[delivery.number]?.request?.rateLimit
            delivery.version += 1
            delivery.isRestored = false
            self[delivery.number] = delivery
            url = request.url.redacted
            lastFailure = nil
        }

        mutating func forEachDelivery(_ body: (inout Delivery) -> Void) {
            for index in deliveries.indices { body(&deliveries[index]) }
        }

        /// The delivery to a path, compared as bytes: equivalent Unicode spellings are different files.
        func delivery(to destination: String) -> Delivery? {
            deliveries.first { $0.destination.utf8.elementsEqual(destination.utf8) }
        }
    }

    /// How a run ended.
    enum Ending: Hashable {
        case delivered
        /// It was delivered according to the request that the run started with, but a newer request for the same file
        /// asks for something else. Only callers that waited at the start are answered, and the item runs again.
        case outdated
        /// It failed, and so would the other deliveries, unless the failure concerns this destination only or their
        /// requests differ (`sparing`). If its own delivery is spared because it has a newer request, only callers that
        /// waited at the start are answered. With a reason, the failure is permanent.
        case failed(isOfDestination: Bool, sparing: Set<Int> = [], forGood: Reason? = nil)
        /// It was stopped on request.
        case stopped
    }

    /// The answer to callers.
    enum Answer: Hashable {
        /// The outcome of the run that has just ended.
        case outcome
        /// Nothing until it is requested again.
        case cancelled
        /// The caller cancelled its own wait.
        case left
        case closed
    }

    /// An action for the queue to perform.
    enum Action: Hashable {
        /// Begin the run of an item once its row is recorded.
        case start(Key)
        case stop(Key)
        case answer([Caller], Answer)
        /// Remove the partial data, then call ``QueueState/dropped(_:)``.
        case drop(Key)
    }
}
