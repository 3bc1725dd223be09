internal import ResumeHTTP

/// What a memory store holds, who has it and what goes when there is no room: bookkeeping without a byte or a lock.
///
/// Plain collections, not a database in memory: there is one process, nothing survives it, and each question is a look
/// into a dictionary.
struct MemoryShelf {
    private struct Item {
        var partial: MemoryPartial
        /// How many bytes it has room for.
        var size = 0
        var isInUse = true
        /// When it was last given back; a number, not a time.
        var lastUse: UInt64 = 0
    }

    private let limits: MemoryStore.Configuration
    private var items: [String: Item] = [:]
    /// Idle entries in the order of their last use, with others that were taken into use since: those are passed over.
    private var order: [(use: UInt64, key: String)] = []
    private var oldest = 0
    private var uses: UInt64 = 0
    /// How many bytes all entries have room for.
    private(set) var size = 0

    init(_ limits: MemoryStore.Configuration) { self.limits = limits }

    /// All entries in the order of their keys.
    var contents: [MemoryStore.Entry] {
        items.map { key, item in
            MemoryStore.Entry(
                key: key, url: item.partial.url.redacted, bytes: item.partial.length, isInUse: item.isInUse)
        }.sorted { $0.key < $1.key }
    }

    /// What is held of a download, last used first; what is in use comes before that.
    func variants(of name: String) -> [Variant] {
        (1...Variant.most).compactMap { items[Variant.key(name, $0)] }.filter {
            Variant.key(name, $0.partial.variant) == $0.partial.key
        }
        .sorted { ($0.isInUse ? .max : $0.lastUse) > ($1.isInUse ? .max : $1.lastUse) }
        .map {
            Variant(number: $0.partial.variant, requester: $0.partial.requester, vary: $0.partial.representation?.vary)
        }
    }

    /// Takes into use an entry for another representation of a download, in place of the one that was used longest ago
    /// where there are as many as there may be.
    ///
    /// - Parameter fresh: What is made, but for its number.
    /// - Returns: What was made; nil where all are in use.
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

    /// What becomes of a wish for an entry.
    enum Taking {
        case taken(MemoryPartial)
        case inUse
        case absent
    }

    /// Takes an entry into use.
    ///
    /// - Parameters:
    ///   - key: What names it.
    ///   - fresh: What is made where there is none; nil for nothing.
    /// - Returns: What it holds, where it is to be had.
    mutating func take(_ key: String, orElse fresh: MemoryPartial?) -> Taking {
        if let item = items[key] {
            guard !item.isInUse else { return .inUse }
            items[key]?.isInUse = true
            // Whoever has it may drop its bytes: then they must be nobody else's.
            items[key]?.partial.blob = nil
            return .taken(item.partial)
        }
        guard let fresh else { return .absent }
        items[key] = Item(partial: fresh)
        return .taken(fresh)
    }

    /// Takes note of what an entry in use holds.
    mutating func update(_ key: String, _ partial: MemoryPartial, size: Int) {
        guard let old = items[key]?.size else { return }
        items[key]?.partial = partial
        items[key]?.size = size
        self.size += size - old
    }

    /// Gives back an entry; one that holds nothing goes.
    mutating func putBack(_ key: String) {
        guard let item = items[key] else { return }
        guard !item.partial.isEmpty else { return remove(key) }
        uses += 1
        items[key]?.isInUse = false
        items[key]?.lastUse = uses
        order.append((uses, key))
        if order.count > 2 * items.count + 64 { compact() }
        // One that alone is too much goes at once; so does what others in use leave no room for.
        while isOver, evictOldest() {}
    }

    /// Makes room for an entry in use to grow, at the cost of idle ones.
    ///
    /// - Parameters:
    ///   - key: What names it.
    ///   - range: How many bytes it needs room for, and how many would be better.
    /// - Returns: How many it has room for now; nil where all that is idle would not be enough, and then nothing goes.
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

    /// Removes all entries that nobody uses.
    mutating func removeIdle() {
        while evictOldest() {}
    }

    private var isOver: Bool { size > limits.maximumSize || items.count > limits.maximumEntries }

    /// Removes the idle entry that was used least recently.
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
