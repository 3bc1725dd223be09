/// The scheduling logic of a queue as a pure value: it receives events and returns what to start, stop and answer.
///
/// A download is one item, however many callers request it, with one delivery for each destination. At most one item is
/// forced: while it waits or runs, nothing else runs. Interrupted items continue before items that have not begun.
struct QueueState {
    typealias Key = String
    /// A caller that waits for an answer.
    typealias Caller = Int

    /// Which runs have a place.
    var slots: Slots
    /// Whether the whole queue is paused.
    var isHeld = false
    var isClosed = false
    var items: [Key: Item] = [:]
    /// The items that have a run, in the order of their starts.
    var running: [Key] = []
    var line: Line
    var forced: Key?
    private var changed: Set<Key> = []
    /// The rows of deliveries that were removed.
    var removals: Set<Int64> = []
    /// What to do after the present change.
    var actions: [Action] = []
    private var lastNumber = 0

    /// How many runs that have begun may wait without a place before no further one begins.
    static let mostPaused = 64

    init(order: DownloadQueue.Order = .lastInFirstOut, maximumRunning: Int = 4, maximumPerHost: Int? = nil) {
        line = Line(order: order)
        slots = Slots(
            count: max(maximumRunning, 1), perHost: maximumPerHost.map { max($0, 1) }, mostPaused: Self.mostPaused)
    }

    /// The host of an item that may run; the same for all if hosts have no limit, since one line is faster than many.
    func host(of item: Item) -> String { slots.perHost == nil ? "" : item.next?.request?.url.host ?? "" }

    /// The keys of the waiting items, next one first.
    var waiting: [Key] {
        let keys = line.sorted.map(\.key)
        return keys.filter { $0 == forced } + keys.filter { $0 != forced }
    }

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
        if item.isInLine { line.insert(item.place, at: host(of: item)) }
        changed.insert(item.key)
    }

    mutating func update(_ key: Key, _ body: (inout Item) -> Void) {
        guard var item = items[key] else { return }
        if item.isInLine { line.remove(item.place, at: host(of: item)) }
        let before = item.deliveries
        body(&item)
        let left = Set(item.deliveries.map(\.number))
        for delivery in before where !left.contains(delivery.number) {
            if let row = delivery.row?.id { removals.insert(row) }
        }
        if item.wish == .waiting { item.forEachDelivery { if $0.isReady { $0.isRestored = false } } }
        insert(item)
    }

    /// Returns a number that nothing else of the queue has; it is higher than all before it.
    mutating func newNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    mutating func newDelivery(to destination: String) -> Delivery {
        Delivery(number: newNumber(), destination: destination)
    }

    mutating func remove(_ key: Key) {
        update(key) { $0.deliveries = [] }
        items[key] = nil
        unforce(key)
    }

    /// Answers callers, if there are any.
    mutating func answer(_ callers: [Caller], _ answer: Answer) {
        if !callers.isEmpty { actions.append(.answer(callers, answer)) }
    }

    /// Makes an item the forced one, replacing any other.
    mutating func force(_ key: Key) {
        if let forced { changed.insert(forced) }
        forced = key
        changed.insert(key)
    }

    mutating func unforce(_ key: Key) {
        if forced == key { forced = nil }
    }
}
