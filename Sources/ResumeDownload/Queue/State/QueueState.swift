package import ResumeHTTP

/// What a queue does next, as a pure value: it is told what happens, and says what to start, to stop and to answer.
///
/// A download is one item whoever asks for it, with one delivery for each destination. At most one item is forced: while
/// it waits or runs, nothing else does. What was begun and had to stop goes on before what has not begun.
package struct QueueState: Sendable {
    package typealias Key = String
    /// Somebody who waits for an answer.
    package typealias Caller = Int

    /// What is wanted of an item.
    package enum Wish: Sendable, Hashable {
        /// That it runs, when it is its turn.
        case waiting
        /// That it stays as it is.
        case paused
        /// Nothing, since all that it has to deliver failed for good; until somebody resumes it or asks for it again.
        case failed
        /// Nothing, until somebody asks for it again.
        case cancelled
        /// Nothing yet: it is of an earlier process.
        case restored
        /// That what came is dropped.
        case dropped
    }

    /// A file that an item becomes.
    package struct Delivery: Sendable, Hashable {
        /// Never the same twice: one that was given up and is asked for again is another one.
        package let number: Int
        package let destination: String
        package var callers: [Caller] = []
        /// Whether it is wanted also where nobody waits for it.
        package var isKept: Bool
        /// Whether there is a request for it.
        package var isReady: Bool
        /// Whether an earlier process left it, and nobody has said yet that it goes on.
        package var isRestored = false
        /// Whether it failed, and waits until the others have had their turn.
        package var hasFailed = false
        /// Why it failed for good; nil where it did not.
        package var failure: Reason?

        /// Whether it can be made when it is its turn.
        var isNext: Bool { isReady && !hasFailed && failure == nil }
        var isWanted: Bool { isKept || !callers.isEmpty }

        /// Takes out those who waited for it when a run began.
        mutating func takeCallers(of run: Run) -> [Caller] {
            defer { callers.removeAll(where: run.callers.contains) }
            return callers.filter(run.callers.contains)
        }
    }

    /// A delivery that is no more.
    package struct Gone: Sendable, Hashable {
        package let key: Key
        package let number: Int
    }

    /// One try to make a delivery, from its start to its end.
    package struct Run: Sendable, Hashable {
        package let number: Int
        package let destination: String
        /// The number of the delivery.
        package let delivery: Int
        /// Those who waited for it at the start.
        package let callers: Set<Caller>
        package var isStopping = false
        /// Whether all bytes of a small file have come: while it is delivered with others it has no place among those that
        /// run.
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
        /// Whether it goes as soon as its run has ended.
        package var isForgotten = false

        /// What it delivers next.
        var next: Delivery? { deliveries.first(where: \.isNext) }
        var isInLine: Bool { wish == .waiting && run == nil && next != nil }
        /// Whether it wants to run, or does.
        var isUnderWay: Bool { wish == .waiting && (run != nil || next != nil) }
        var place: WaitingLine.Place { .init(isForced: isForced, priority: priority, rank: rank, key: key) }
        var callers: [Caller] { deliveries.flatMap(\.callers) }
        /// Why it failed for good, or the first of its deliveries that did.
        package var failure: Reason? { deliveries.lazy.compactMap(\.failure).first }

        /// The delivery to a file, by the bytes of its name: two spellings that look the same are two files.
        func index(of destination: String) -> Int? {
            deliveries.firstIndex { $0.destination.utf8.elementsEqual(destination.utf8) }
        }
    }

    /// How a run ended.
    package enum Ending: Sendable, Hashable {
        case delivered
        /// It was delivered as it was requested at the start. A newer request for the same file is not answered by that:
        /// only who waited at the start is told, and it runs again.
        case outdated
        /// It failed, and so would the other deliveries, unless it is this destination's own fault; those that are spared
        /// are asked for otherwise. Where that is so of its own delivery by now, only who waited at the start is told.
        /// With a reason it failed for good.
        case failed(isOfDestination: Bool, sparing: Set<Int> = [], forGood: Reason? = nil)
        /// Because it was told to.
        case stopped
    }

    /// What callers are told.
    package enum Answer: Sendable, Hashable {
        /// How the run ended that has just ended.
        case outcome
        /// That somebody else cancelled the download.
        case cancelled
        /// That they left.
        case left
        case closed
    }

    /// What is to be done.
    package enum Action: Sendable, Hashable {
        case start(Key, Run)
        case stop(Key)
        case answer([Caller], Answer)
        /// What came of it is to be dropped; to be followed by ``QueueState/dropped(_:)``.
        case drop(Key)
    }

    package let order: QueueOrder
    package internal(set) var maximumRunning: Int
    /// Whether nothing is started.
    package internal(set) var isHeld = false
    package internal(set) var isClosed = false
    package private(set) var items: [Key: Item] = [:]
    /// What has a run, in the order of the starts.
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

    /// How many of those that run have a place, of which there are ``maximumRunning``.
    var places: Int { running.count { items[$0]?.run?.isReceived == false } }

    /// What waits to run, the next one first.
    package var waiting: [Key] { line.places.reversed().map(\.key) }

    /// What waits for a turn or is being dropped keeps a queue from being idle; what is paused does not.
    package var isIdle: Bool {
        running.isEmpty && (line.isEmpty || isHeld || isClosed) && !isDropping
    }

    package var isDropping: Bool { items.values.contains { $0.wish == .dropped } }

    package var hasChanges: Bool { !changed.isEmpty }

    /// The keys of the items that were made, changed or removed since the last time.
    package mutating func takeChanges() -> Set<Key> {
        defer { changed = [] }
        return changed
    }

    /// The deliveries that are no more since the last time.
    package mutating func takeGone() -> [Gone] {
        defer { gone = [] }
        return gone
    }

    /// What a queue knows of an item beside the state has changed.
    package mutating func touch(_ key: Key) { changed.insert(key) }
}

// How items change: only here, so that the line, the callers and the changes agree with them.
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

    /// The rank before everything that is there.
    mutating func topRank() -> Int64 {
        top += 1
        return top
    }

    /// The rank of what is new.
    mutating func newRank() -> Int64 {
        guard order == .firstInFirstOut else { return topRank() }
        bottom -= 1
        return bottom
    }

    /// Takes note of a rank that was given in an earlier process.
    mutating func noteRank(_ rank: Int64) {
        top = max(top, rank)
        bottom = min(bottom, rank)
    }

    mutating func enlist(_ caller: Caller, for key: Key) { callers[caller] = key }

    /// Forgets a caller, who is about to be answered.
    mutating func dismiss(_ caller: Caller) -> Key? { callers.removeValue(forKey: caller) }

    /// The answer for callers, if there are any.
    mutating func answer(_ callers: [Caller], _ answer: Answer) -> [Action] {
        for caller in callers { _ = dismiss(caller) }
        return callers.isEmpty ? [] : [.answer(callers, answer)]
    }

    /// Makes an item the forced one, in place of another.
    mutating func force(_ key: Key) {
        if let forced, forced != key { update(forced) { $0.isForced = false } }
        update(key) { $0.isForced = true }
    }
}
