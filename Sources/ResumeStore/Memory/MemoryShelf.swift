internal import ResumeHTTP

/// The bookkeeping of a memory store: its entries, their leases, and the order of eviction, without bytes and locks.
///
/// It uses plain collections instead of an in-memory database: there is one process, nothing has to survive it, and
/// each query is a dictionary lookup.
struct MemoryShelf {
    private struct Item {
        var partial: MemoryPartial
        /// The reserved capacity in bytes.
        var size = 0
        var isInUse = true
        /// When it was last released, as a sequence number.
        var lastUse: UInt64 = 0
    }

    private let limits: MemoryStore.Configuration
    private var items: [String: Item] = [:]
    /// Idle entries in the order of their last use; entries that have been taken since are skipped.
    private var order: [(use: UInt64, key: String)] = []
    private var oldest = 0
    private var uses: UInt64 = 0
    /// The total capacity of all entries in bytes.
    private(set) var size = 0

    init(_ limits: MemoryStore.Configuration) { self.limits = limits }

    /// All entries, sorted by key.
    var contents: [MemoryStore.Entry] {
        items.map { key, item in
            MemoryStore.Entry(
                key: key, url: item.partial.url.redacted, bytes: item.partial.length, isInUse: item.isInUse)
        }.sorted { $0.key < $1.key }
    }

    /// Returns the variants of a download: those in use first, then by last use, most recent first.
    func variants(of name: String) -> [Variant] {
        (1...Variant.most).compactMap { items[Variant.key(name, $0)] }.filter {
            Variant.key(name, $0.partial.variant) == $0.partial.key
        }
        .sorted { ($0.isInUse ? .max : $0.lastUse) > ($1.isInUse ? .max : $1.lastUse) }
        .map {
            Variant(number: $0.partial.variant, requester: $0.partial.requester, vary: $0.partial.representation?.vary)
        }
    }

    /// Takes an entry for another representation of a download.
    ///
    /// If the maximum number of variants exists, it replaces the least recently used idle one.
    ///
    /// - Parameter fresh: The new entry, without its number.
    /// - Returns: The new entry; nil if all variants are in use.
    mutating func takeVariant(_ fresh: MemoryPartial) -> MemoryPartial? {
        var fresh = fresh
        fresh.variant = 1
        let name = fresh.key
        let free = (1...Variant.most).first { items[Variant.key(name, $0)] == nil }
        let idle = variants(of: name).last { items[Variant.key(name, $0.number)]?.isInUse == false }?.number
        guard let number = free ?? idle else { return nil }
        fresh.variant = number
        remove(fresh.key)
        items[fresh.key] = Item(partial: fresh)
        return fresh
    }

    /// The result of trying to take an entry.
    enum Taking {
        case taken(MemoryPartial)
        case inUse
        case absent
    }

    /// Takes an entry, so that it is in use.
    ///
    /// - Parameters:
    ///   - key: The key of the entry.
    ///   - fresh: The entry to add if there is none; nil to add none.
    /// - Returns: The entry, if it is available.
    mutating func take(_ key: String, orElse fresh: MemoryPartial?) -> Taking {
        if let item = items[key] {
            guard !item.isInUse else { return .inUse }
            items[key]?.isInUse = true
            // The user of the entry may modify the bytes, so it must hold the only reference.
            items[key]?.partial.blob = nil
            return .taken(item.partial)
        }
        guard let fresh else { return .absent }
        items[key] = Item(partial: fresh)
        return .taken(fresh)
    }

    /// Updates an entry in use.
    mutating func update(_ key: String, _ partial: MemoryPartial, size: Int) {
        guard let old = items[key]?.size else { return }
        items[key]?.partial = partial
        items[key]?.size = size
        self.size += size - old
    }

    /// Releases an entry; an empty one is removed.
    mutating func putBack(_ key: String) {
        guard let item = items[key] else { return }
        guard !item.partial.isEmpty else { return remove(key) }
        uses += 1
        items[key]?.isInUse = false
        items[key]?.lastUse = uses
        order.append((uses, key))
        if order.count > 2 * items.count + 64 { compact() }
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
        let granted = min(limits.maximumSize - used, range.upperBound)
        guard granted >= range.lowerBound else { return nil }
        while size - item.size > limits.maximumSize - granted, evictOldest() {}
        size += granted - item.size
        items[key]?.size = granted
        return granted
    }

    /// Removes an entry, idle or in use.
    mutating func remove(_ key: String) {
        size -= items.removeValue(forKey: key)?.size ?? 0
    }

    /// Removes all idle entries.
    mutating func removeIdle() {
        while evictOldest() {}
    }

    private var isOver: Bool { size > limits.maximumSize || items.count > limits.maximumEntries }

    /// Removes the least recently used idle entry.
    ///
    /// - Returns: Whether there was one.
    private mutating func evictOldest() -> Bool {
        while oldest < order.count {
            let (use, key) = order[oldest]
            oldest += 1
            guard let item = items[key], !item.isInUse, item.lastUse == use else { continue }
            remove(key)
            return true
        }
        compact()
        return false
    }

    private mutating func compact() {
        order = order[oldest...].filter { use, key in items[key].map { !$0.isInUse && $0.lastUse == use } ?? false }
        oldest = 0
    }
}
