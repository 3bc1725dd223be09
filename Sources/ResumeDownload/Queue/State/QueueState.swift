package import ResumeHTTP

/// The scheduling logic of a queue as a pure value: it receives events and returns what to start, stop and answer.
///
/// A download is one item, however many callers request it, with one delivery for each destination. At most one item is
/// forced: while it waits or runs, nothing else runs. Interrupted items continue before items that have not begun.
package struct QueueState: Sendable {
    package typealias Key = String
    /// A caller that waits for an answer.
    package typealias Caller = Int

    /// The state that an item should reach.
    package enum Wish: Sendable, Hashable {
        /// To run when it is its turn.
        case waiting
        /// To stay paused.
        case paused
        /// Nothing: all of its deliveries failed permanently. It runs again after a resume or a new request.
        case failed
        /// Nothing until it is requested again.
        case cancelled
        /// Nothing yet: an earlier process left it.
        case restored
        /// To have its partial data removed.
        case dropped
    }

    /// A destination of an item.
    package struct Delivery: Sendable, Hashable {
        /// Unique: a delivery that was cancelled and is requested again gets a new number.
        package let number: Int
        package let destination: String
        package var callers: [Caller] = []
        /// Whether it is wanted even if no caller waits for it.
        package var isKept: Bool
        /// Whether a request for it exists.
        package var isReady: Bool
        /// Whether an earlier process left it and it has not been resumed or requested since.
        package var isRestored = false
        /// Whether it failed and waits until the other deliveries have been tried.
        package var hasFailed = false
        /// Why it failed permanently; nil if it did not.
        package var failure: Reason?

        /// Whether it can run when it is its turn.
        var isNext: Bool { isReady && !hasFailed && failure == nil }
        var isWanted: Bool { isKept || !callers.isEmpty }

        /// Removes and returns the callers that already waited when a run began.
        mutating func takeCallers(of run: Run) -> [Caller] {
            defer { callers.removeAll(where: run.callers.contains) }
            return callers.filter(run.callers.contains)
        }
    }

    /// A delivery that was removed.
    package struct Gone: Sendable, Hashable {
        package let key: Key
        package let number: Int
    }

    /// One attempt at a delivery.
    package struct Run: Sendable, Hashable {
        package let number: Int
        package let destination: String
        /// The number of the delivery.
        package let delivery: Int
        /// The callers that waited for it at the start.
        package let callers: Set<Caller>
        package var isStopping = false
        /// Whether all bytes of a small file have been received.
        ///
        /// While it is being delivered together with others, it does not count towards ``QueueState/maximumRunning``.
        package var isReceived = false
    }

    /// One download.
    package struct Item: Sendable, Hashable {
        package let key: Key
        package var priority: QueuePriority
        package var isForced = false
        package var rank: Int64
        package var wish: Wish
        package var run: Run?
        package var deliveries: [Delivery] = []
        /// Whether it is removed as soon as its run has ended.
        package var isForgotten = false

        /// The next delivery to run.
        var next: Delivery? { deliveries.first(where: \.isNext) }
        var isInLine: Bool { wish == .waiting && run == nil && next != nil }
        /// Whether it runs or waits to run.
        var isUnderWay: Bool { wish == .waiting && (run != nil || next != nil) }
        var place: WaitingLine.Place { .init(isForced: isForced, priority: priority, rank: rank, key: key) }
        var callers: [Caller] { deliveries.flatMap(\.callers) }
        /// Why it, or the first of its failed deliveries, failed permanently.
        package var failure: Reason? { deliveries.lazy.compactMap(\.failure).first }

        /// The index of the delivery to a path, compared as bytes: equivalent Unicode spellings are different files.
        func index(of destination: String) -> Int? {
            deliveries.firstIndex { $0.destination.utf8.elementsEqual(destination.utf8) }
        }
    }

    /// How a run ended.
    package enum Ending: Sendable, Hashable {
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
    package enum Answer: Sendable, Hashable {
        /// The outcome of the run that has just ended.
        case outcome
        /// The download was cancelled by someone else.
        case cancelled
        /// The caller cancelled its own wait.
        case left
        case closed
    }

    /// An action for the queue to perform.
    package enum Action: Sendable, Hashable {
        case start(Key, Run)
        case stop(Key)
        case answer([Caller], Answer)
        /// Remove the partial data, then call ``QueueState/dropped(_:)``.
        case drop(Key)
    }

    package let order: QueueOrder
    package internal(set) var maximumRunning: Int
    /// Whether the whole queue is paused.
    package internal(set) var isHeld = false
    package internal(set) var isClosed = false
    package private(set) var items: [Key: Item] = [:]
    /// The items that have a run, in the order of their starts.
    package internal(set) var running: [Key] = []
    var line = WaitingLine()
    private var callers: [Caller: Key] = [:]
    var forced: Key?
    private var changed: Set<Key> = []
    private var gone: [Gone] = []
    var lastRun = 0
    private var lastDelivery = 0
    private var top: Int64 = 0
    private var bottom: Int64 = 0

    package init(order: QueueOrder = .lastInFirstOut, maximumRunning: Int = 4) {
        self.order = order
        self.maximumRunning = max(maximumRunning, 1)
    }

    /// How many runs count towards ``maximumRunning``.
    var places: Int { running.count { items[$0]?.run?.isReceived == false } }

    /// The keys of the waiting items, next one first.
    package var waiting: [Key] { line.places.reversed().map(\.key) }

    /// Whether nothing runs, waits for a turn or is being dropped; paused items do not count.
    package var isIdle: Bool {
        running.isEmpty && (line.isEmpty || isHeld || isClosed) && !isDropping
    }

    package var isDropping: Bool { items.values.contains { $0.wish == .dropped } }

    package var hasChanges: Bool { !changed.isEmpty }

    /// Returns the keys of the items that were added, changed or removed since the last call.
    package mutating func takeChanges() -> Set<Key> {
        defer { changed = [] }
        return changed
    }

    /// Returns the deliveries that were removed since the last call.
    package mutating func takeGone() -> [Gone] {
        defer { gone = [] }
        return gone
    }

    /// Marks an item as changed because data outside of this state has changed.
    package mutating func touch(_ key: Key) { changed.insert(key) }
}

// All changes of items go through these methods, which keep the line, the callers and the set of changes consistent.
extension QueueState {
    mutating func insert(_ item: Item) {
        items[item.key] = item
        if item.isInLine { line.insert(item.place) }
        if item.isForced { forced = item.key }
        changed.insert(item.key)
    }

    mutating func update(_ key: Key, _ body: (inout Item) -> Void) {
        guard var item = items[key] else { return }
        if item.isInLine { line.remove(item.place) }
        if forced == key { forced = nil }
        let before = item.deliveries
        body(&item)
        for delivery in before where !item.deliveries.contains(where: { $0.number == delivery.number }) {
            gone.append(Gone(key: key, number: delivery.number))
        }
        if item.wish == .waiting {
            for index in item.deliveries.indices where item.deliveries[index].isReady {
                item.deliveries[index].isRestored = false
            }
        }
        insert(item)
    }

    mutating func newDelivery(to destination: String, isKept: Bool, isReady: Bool) -> Delivery {
        lastDelivery += 1
        return Delivery(number: lastDelivery, destination: destination, isKept: isKept, isReady: isReady)
    }

    mutating func remove(_ key: Key) {
        update(key) { $0.deliveries = [] }
        items[key] = nil
        if forced == key { forced = nil }
    }

    /// Returns a rank before all others.
    mutating func topRank() -> Int64 {
        top += 1
        return top
    }

    /// Returns the rank of a new item.
    mutating func newRank() -> Int64 {
        guard order == .firstInFirstOut else { return topRank() }
        bottom -= 1
        return bottom
    }

    /// Extends the range of known ranks by one that an earlier process assigned.
    mutating func noteRank(_ rank: Int64) {
        top = max(top, rank)
        bottom = min(bottom, rank)
    }

    mutating func enlist(_ caller: Caller, for key: Key) { callers[caller] = key }

    /// Forgets a caller that is about to be answered.
    mutating func dismiss(_ caller: Caller) -> Key? { callers.removeValue(forKey: caller) }

    /// Returns the action that answers callers; none if there are no callers.
    mutating func answer(_ callers: [Caller], _ answer: Answer) -> [Action] {
        for caller in callers { _ = dismiss(caller) }
        return callers.isEmpty ? [] : [.answer(callers, answer)]
    }

    /// Makes an item the forced one, replacing any other.
    mutating func force(_ key: Key) {
        if let forced, forced != key { update(forced) { $0.isForced = false } }
        update(key) { $0.isForced = true }
    }
}
