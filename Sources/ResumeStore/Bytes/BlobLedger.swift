internal import Synchronization

/// The accounts of all parts of a blob, in order of their offsets.
struct BlobLedger: Sendable {
    private(set) var parts: [PartLedger]
    /// The offset of the part that the main stream writes.
    private(set) var mainOffset: Int64

    /// Creates the accounts of an entry.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - now: The time, by the store's clock.
    ///   - interval: The most bytes that a power loss may cost.
    init(_ entry: Entry, at now: Duration, interval: Int64) {
        let chunks = entry.chunks
        mainOffset = entry.part.offset
        parts = chunks.enumerated().map { index, chunk in
            PartLedger(
                PartReference(id: entry.id, generation: entry.generation, offset: chunk.offset), received: chunk.end,
                durable: chunk.offset.addingSaturating(chunk.durable),
                isFollowed: index + 1 < chunks.count && chunks[index + 1].offset == chunk.end, at: now)
        }
        if chunks.isEmpty { insert(PartLedger(entry.part, received: 0, durable: 0, isFollowed: false, at: now)) }
        if entry.grows, parts.count == 1 { parts[0].grow(upTo: Self.growingLimit(interval)) }
    }

    /// How many bytes may wait for a commit while the length of the blob counts.
    ///
    /// - Parameter interval: The most bytes that a power loss may cost.
    /// - Returns: The number of bytes.
    static func growingLimit(_ interval: Int64) -> Int64 { interval / 4 }

    /// Stops counting the length of the blob: from now on, only commits make bytes survive the process.
    mutating func stopGrowing() {
        for index in parts.indices { parts[index].stopGrowing() }
    }

    /// The account of the part at an offset; nil if there is none.
    subscript(offset: Int64) -> PartLedger? { parts.first { $0.offset == offset } }

    /// Changes the account of the part at an offset.
    ///
    /// - Returns: What the closure returns; nil if there is no such part.
    @discardableResult
    mutating func update<Result>(_ offset: Int64, _ change: (inout PartLedger) -> Result) -> Result? {
        parts.firstIndex { $0.offset == offset }.map { change(&parts[$0]) }
    }

    /// Creates the account of bytes in memory, which no row records.
    init(inMemory received: Int64) {
        mainOffset = 0
        parts = [
            PartLedger(
                PartReference(id: 0, generation: 0, offset: 0), received: received, durable: received,
                isFollowed: false, at: .zero)
        ]
    }

    /// Adds the account of another part, replacing an empty one at the same offset.
    mutating func insert(_ part: PartLedger) {
        parts.removeAll { $0.offset == part.offset }
        parts.insert(part, at: parts.firstIndex { $0.offset > part.offset } ?? parts.endIndex)
    }

    /// The end of the bytes from offset 0 that can be read.
    ///
    /// It crosses a border between two parts only after the border was compared: before that, the bytes behind it may
    /// turn out to belong to another representation.
    var readableEnd: Int64 {
        var (end, isFollowed): (Int64, Bool) = (0, true)
        for part in parts where part.received > end && part.offset <= end && (part.offset < end || isFollowed) {
            (end, isFollowed) = (part.received, part.isFollowed)
        }
        return end
    }

    /// The number of bytes that a commit and a flush can make durable now.
    var flushable: Int64 { parts.reduce(0) { $0.addingSaturating($1.flushable) } }

    /// Records that the part that ends at an offset continues in the part that begins there, since its stream compares
    /// the bytes before it writes.
    mutating func follow(upTo offset: Int64) {
        for index in parts.indices where parts[index].received == offset { parts[index].isContinued() }
    }

    /// The number of bytes that a power loss would cost, recorded or not.
    var atRisk: Int64 { parts.reduce(0) { $0.addingSaturating($1.received - $1.durable) } }

    /// Starts a flush of the blob.
    ///
    /// - Returns: The bytes that it makes durable.
    mutating func beginFlush() -> [PartLedger.Flush] {
        parts.indices.compactMap { parts[$0].beginFlush() }
    }

    /// Records that a flush was made and recorded.
    mutating func wasFlushed(_ flushes: [PartLedger.Flush]) {
        for flush in flushes { update(flush.row.offset) { $0.wasFlushed(flush) } }
    }
}

/// A ``BlobLedger`` that the streams of a transfer, its flushes and its readers share.
final class SharedLedger: Sendable {
    private let ledger: Mutex<BlobLedger>

    init(_ ledger: BlobLedger) {
        self.ledger = Mutex(ledger)
    }

    /// Calls a closure with the ledger, locked; it must not block.
    func withLock<Result: Sendable>(_ body: (inout BlobLedger) -> Result) -> Result {
        ledger.withLock { body(&$0) }
    }
}

/// The account of one stream in a ``SharedLedger``.
struct PartAccount: Sendable {
    let ledger: SharedLedger
    /// The offset of the part that the stream writes; nil for the main stream, whose part is set by the ledger.
    let offset: Int64?

    /// Calls a closure with the account.
    ///
    /// - Returns: The result of the closure; nil if the part was discarded.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout PartLedger) -> Result) -> Result? {
        ledger.withLock { $0.update(offset ?? $0.mainOffset, body) }
    }

    /// The end of the bytes in the blob.
    var received: Int64 { update { $0.received } ?? 0 }
    /// The end of the bytes that survive the process.
    var recorded: Int64 { update { $0.recorded } ?? 0 }
    /// The offset of the part.
    var partOffset: Int64 { ledger.withLock { offset ?? $0.mainOffset } }
}
