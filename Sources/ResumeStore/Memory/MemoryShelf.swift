import ResumeFiles
import ResumeHTTP

/// The bookkeeping of a memory store: its entries, their leases, and the order of eviction, without bytes and locks.
///
/// It uses a dictionary instead of an in-memory database: there is one process, nothing has to survive it, and there are
/// few entries.
struct MemoryShelf {
    private struct Item {
        var held: Held
        /// The reserved capacity in bytes.
        var size = 0
        /// When it was last released, as a sequence number.
        var lastUse: UInt64 = 0

        var entry: Entry { held.entry }
        var isInUse: Bool { entry.isInUse }
    }

    private let maximumSize: Int
    private let maximumEntries: Int
    private var items: [String: Item] = [:]
    private var uses: UInt64 = 0
    /// The total capacity of all entries in bytes.
    private(set) var size = 0

    init(maximumSize: Int, maximumEntries: Int) {
        self.maximumSize = maximumSize
        self.maximumEntries = maximumEntries
    }

    var contents: [Entry] { items.values.map(\.entry).sorted { $0.key < $1.key } }

    /// Returns the variants of a download: those in use first, then by last use, most recent first.
    func variants(of name: String) -> [Variant] {
        (1...Variant.most).compactMap { items[Variant.key(name, $0)] }.filter {
            Variant.key(name, $0.entry.variant) == $0.entry.key
        }
        .sorted { ($0.isInUse ? .max : $0.lastUse) > ($1.isInUse ? .max : $1.lastUse) }
        .map {
            Variant(id: 0, number: $0.entry.variant, requester: $0.entry.requester, vary: $0.entry.representation?.vary)
        }
    }

    /// Takes an entry for another representation of a download.
    ///
    /// If the maximum number of variants exists, it replaces the least recently used idle one.
    ///
    /// - Parameters:
    ///   - name: The key of the download.
    ///   - make: Creates the entry with a number.
    /// - Returns: The new entry; nil if all variants are in use.
    mutating func takeVariant(of name: String, _ make: (Int) -> Entry) -> Entry? {
        let free = (1...Variant.most).first { items[Variant.key(name, $0)] == nil }
        let idle = variants(of: name).last { items[Variant.key(name, $0.number)]?.isInUse == false }?.number
        guard let fresh = (free ?? idle).map(make) else { return nil }
        remove(fresh.key)
        items[fresh.key] = Item(held: Held(entry: fresh))
        return fresh
    }

    /// The result of trying to take an entry.
    enum Taking {
        case taken(Held)
        case inUse
        case absent
    }

    /// Takes an entry, so that it is in use.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - fresh: The entry to add if there is none; nil to add none.
    /// - Returns: The entry, if it is available.
    mutating func take(_ key: String, orElse fresh: Entry?) -> Taking {
        guard var held = items[key]?.held ?? fresh.map({ Held(entry: $0) }) else { return .absent }
        if items[key]?.isInUse == true { return .inUse }
        held.entry.isInUse = true
        // The bytes of an entry in use belong to its transfer.
        items[key, default: Item(held: held)].held = Held(entry: held.entry)
        return .taken(held)
    }

    /// Updates an entry in use.
    mutating func update(_ held: Held, size: Int) {
        guard let old = items[held.entry.key]?.size else { return }
        items[held.entry.key]?.held = held
        items[held.entry.key]?.size = size
        self.size += size - old
    }

    /// Releases an entry; an empty one is removed.
    mutating func putBack(_ key: String) {
        guard var item = items[key] else { return }
        guard !item.held.isEmpty else { return remove(key) }
        uses += 1
        item.held.entry.isInUse = false
        item.held.entry.times.used = WallClock.milliseconds
        item.lastUse = uses
        items[key] = item
        // This removes an entry that alone exceeds the limit, or for which entries in use leave no space.
        while isOver, evictOldest() {}
    }

    /// Reserves capacity for an entry in use by evicting idle ones.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - range: The required and the desired capacity in bytes.
    /// - Returns: The granted capacity; nil if evicting all idle entries would not suffice, in which case none is
    ///   evicted.
    mutating func reserve(_ key: String, _ range: ClosedRange<Int>) -> Int? {
        guard let item = items[key] else { return nil }
        let used = items.values.reduce(-item.size) { $0 + ($1.isInUse ? $1.size : 0) }
        let granted = min(maximumSize - used, range.upperBound)
        guard granted >= range.lowerBound else { return nil }
        while size - item.size > maximumSize - granted, evictOldest() {}
        size += granted - item.size
        items[key]?.size = granted
        return granted
    }

    /// Removes an entry, idle or in use.
    mutating func remove(_ key: String) {
        size -= items.removeValue(forKey: key)?.size ?? 0
    }

    mutating func removeIdle() {
        for item in items.values where !item.isInUse { remove(item.entry.key) }
    }

    private var isOver: Bool { size > maximumSize || items.count > maximumEntries }

    /// Removes the least recently used idle entry.
    ///
    /// - Returns: Whether there was one.
    private mutating func evictOldest() -> Bool {
        let oldest = items.values.filter { !$0.isInUse }.min { $0.lastUse < $1.lastUse }
        if let oldest { remove(oldest.entry.key) }
        return oldest != nil
    }

    /// An entry of a store in memory, with its bytes.
    struct Held {
        var entry: Entry
        /// nil before the first response that was used.
        var blob: MemoryBlob?

        /// Whether there is nothing to keep.
        var isEmpty: Bool { blob == nil || entry.held.isEmpty && !entry.held.hasAllBytes }
    }
}
