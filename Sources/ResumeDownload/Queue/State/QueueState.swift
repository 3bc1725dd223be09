/// The scheduling logic of a queue as a pure value: it receives events and returns what to start, stop and answer.
///
/// A download is one item, however many callers request it, with one delivery for each destination. At most one item is
/// forced: while it waits or runs, nothing else runs. Interrupted items continue before items that have not begun.
struct QueueState: Sendable {
    typealias Key = String
    /// A caller that waits for an answer.
    typealias Caller = Int

    let order: DownloadQueue.Order
    var maximumRunning: Int
    /// Whether the whole queue is paused.
    var isHeld = false
    var isClosed = false
    var items: [Key: Item] = [:]
    /// The items that have a run, in the order of their starts.
    var running: [Key] = []
    var line = WaitingLine()
    var forced: Key?
    private var changed: Set<Key> = []
    /// The rows of deliveries that were removed.
    var removals: Set<Int64> = []
    /// What to do after the present change.
    var actions: [Action] = []
    var lastRun = 0
    private var lastDelivery = 0
    private var top: Int64 = 0
    private var bottom: Int64 = 0

    init(order: DownloadQueue.Order = .lastInFirstOut, maximumRunning: Int = 4) {
        self.order = order
        self.maximumRunning = max(maximumRunning, 1)
    }

    /// How many runs count towards ``maximumRunning``.
    var places: Int { running.count { items[$0]?.run?.isPaused == false } }

    /// The keys of the waiting items, next one first.
    var waiting: [Key] { line.places.reversed().map(\.key) }

    /// Whether nothing runs, waits for a turn or is being dropped; paused items do not count.
    var isIdle: Bool {
        running.isEmpty && (line.isEmpty || isHeld || isClosed) && !items.values.contains { $0.wish == .dropping }
    }

    var hasChanges: Bool { !changed.isEmpty }

    /// Returns the keys of the items that were added, changed or removed since the last call.
    mutating func takeChanges() -> Set<Key> {
        defer { changed = [] }
        return changed
    }

    /// Returns the actions since the last call, in order.
    mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }
}

// All changes of items go through these methods, which keep the line, the callers and the set of changes consistent.
extension QueueState {
    mutating func insert(_ item: Item) {
        items[item.key] = item
        if item.isInLine { line.insert(item.place) }
        if item.isExclusive { forced = item.key }
        changed.insert(item.key)
    }

    mutating func update(_ key: Key, _ body: (inout Item) -> Void) {
        guard var item = items[key] else { return }
        if item.isInLine { line.remove(item.place) }
        if forced == key { forced = nil }
        let before = item.deliveries
        body(&item)
        let left = Set(item.deliveries.map(\.number))
        for delivery in before where !left.contains(delivery.number) {
            if let row = delivery.row?.id { removals.insert(row) }
        }
        if item.wish == .waiting { item.forEachDelivery { if $0.isReady { $0.isRestored = false } } }
        insert(item)
    }

    mutating func newDelivery(to destination: String) -> Delivery {
        lastDelivery += 1
        return Delivery(number: lastDelivery, destination: destination)
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

    /// Answers callers, if there are any.
    mutating func answer(_ callers: [Caller], _ answer: Answer) {
        if !callers.isEmpty { actions.append(.answer(callers, answer)) }
    }

    /// Makes an item the forced one, replacing any other.
    mutating func force(_ key: Key) {
        if let forced, forced != key { update(forced) { $0.isExclusive = false } }
        update(key) { $0.isExclusive = true }
    }
}
