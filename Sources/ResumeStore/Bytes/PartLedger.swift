/// The account of one part of a blob: how many of its bytes were received, recorded and flushed.
///
/// It is a pure value. Its methods return what to do; ``PartStream`` and ``BlobWriter`` do it and report back. All
/// positions are offsets in the blob.
struct PartLedger {
    struct Commit: Hashable {
        let row: PartReference
        /// The end of the bytes that survive the process after this commit.
        let end: Int64
        /// The checksums of the bytes since the last commit.
        let blocks: [Block]
    }

    /// The largest number of bytes that wait for a commit; up to 256 KiB may arrive on top.
    static let unrecordedLimit: Int64 = 768 << 10
    /// The largest number of bytes that wait for a commit while the length of the blob counts.
    static let mostGrowing: Int64 = 16 << 20
    /// How long bytes wait for a commit in that case.
    static let growingDelay: Duration = .seconds(1)
    /// The length from which a block no longer grows.
    private static let blockLength: Int64 = 2 << 20
    /// The number of bytes before the end of a body that wait for its comparison or its digest.
    static let borderLength: Int64 = 4096

    /// How often received bytes are committed.
    enum Pace: Hashable {
        /// Not at all, since there is no row.
        case never
        /// As often as the limit of lost bytes requires.
        case often
        /// After at most this many bytes, because the length of the blob counts as well: during the current boot, bytes
        /// within that length survive the process without a commit.
        case rarely(upTo: Int64)
    }

    /// How often received bytes are committed.
    var pace = Pace.often
    var row: PartReference
    /// The end of the bytes in the blob, recorded or not.
    private(set) var received: Int64
    /// The end of the bytes that a commit has recorded: they survive the process.
    private(set) var recorded: Int64
    /// The end of the bytes that were flushed: they survive a power loss.
    private(set) var durable: Int64
    /// The offset from which bytes must not be recorded yet; nil if all may be recorded.
    private(set) var border: Int64?
    /// Whether the bytes before the border wait for the digest of the body, not only for a comparison.
    private(set) var awaitsDigest = false
    /// The end of the bytes that the current stream receives: the next stream, or the end of the representation.
    private(set) var wantedEnd = Int64.max
    /// Whether the part behind this one was compared with this one's stream, or recorded as its continuation.
    var isFollowed: Bool
    /// When the last commit began, by the store's clock.
    private var lastCommit: Duration
    /// Checksums that no commit has recorded completely; the last block grows.
    private var blocks: [Block]

    /// Creates the account of a part.
    ///
    /// - Parameters:
    ///   - row: The row that records it.
    ///   - received: The end of the bytes that the row records.
    ///   - durable: The end of the bytes that survive a power loss.
    ///   - isFollowed: Whether another recorded part adjoins.
    ///   - now: The time, by the store's clock.
    init(_ row: PartReference, received: Int64, durable: Int64, isFollowed: Bool = false, at now: Duration) {
        self.row = row
        self.received = received
        self.isFollowed = isFollowed
        recorded = received
        self.durable = min(durable, received)
        lastCommit = now
        blocks = [Block(offset: received)]
    }

    // MARK: Receiving

    /// Begins with the body of a response.
    ///
    /// - Parameters:
    ///   - end: The end of the requested bytes in it; nil if unknown.
    ///   - isHeldBack: Whether its last bytes are recorded only after a comparison or a digest, since the process may
    ///     die in between.
    ///   - awaitsDigest: Whether a digest of the body is to be compared.
    ///   - representationEnd: The end of the representation; nil if unknown.
    mutating func beginBody(upTo end: Int64?, isHeldBack: Bool, awaitsDigest: Bool, representationEnd: Int64?) {
        self.awaitsDigest = awaitsDigest
        border = isHeldBack ? end.map(Self.border) : nil
        wantedEnd = end ?? representationEnd ?? .max
        isFollowed = false
    }

    /// Moves the end of the current body forward, because another stream takes over there.
    mutating func shorten(to end: Int64) {
        wantedEnd = end
        border = Self.border(end)
    }

    /// Returns the offset from which bytes before an end are held back.
    static func border(_ end: Int64) -> Int64 { max(end - borderLength, 0) }

    /// Sets or removes the border.
    ///
    /// - Returns: The previous one.
    @discardableResult
    mutating func holdBack(from border: Int64?) -> Int64? {
        defer { self.border = border }
        return self.border
    }

    /// Records that the body matches the part behind this one.
    mutating func wasCompared() {
        isFollowed = true
        if !awaitsDigest { border = nil }
    }

    /// The block to which the next bytes belong.
    var growingBlock: Block { blocks.last ?? Block(offset: received) }

    /// How many bytes may be added to it: a block ends at the border, since a commit records whole blocks.
    var roomInBlock: Int64 { received < border ?? 0 ? (border ?? 0) - received : .max }

    /// Adds bytes that were written at ``received``.
    ///
    /// - Parameters:
    ///   - start: ``growingBlock``, before them.
    ///   - block: The same block, extended by them.
    /// - Returns: False if another block has been started since, or if the border has moved and is crossed; nothing is
    ///   recorded then.
    mutating func receive(extending start: Block, to block: Block) -> Bool {
        guard start == growingBlock, block.length - start.length <= roomInBlock else { return false }
        blocks[blocks.endIndex - 1] = block
        received = block.end
        if block.length >= Self.blockLength || received == border { blocks.append(Block(offset: received)) }
        return true
    }

    // MARK: Recording

    /// The end of what a commit may record now.
    ///
    /// Of a body that has passed its border, nothing more if it awaits a digest; otherwise the whole blocks before the
    /// border, of which the last one ends there unless the border was set later.
    private var recordable: Int64 {
        guard pace != .never else { return recorded }
        guard let border, received > border else { return received }
        let end = awaitsDigest ? nil : blocks.last { $0.end <= border }?.end
        return max(recorded, end ?? recorded)
    }

    /// Whether there are bytes that can be committed now.
    var hasUnrecorded: Bool { recordable > recorded }

    /// Whether a commit is due: early if it is cheap compared with the transfer, at the latest at the promised limit.
    func isDue(at now: Duration) -> Bool {
        let unrecorded = recordable - recorded
        guard unrecorded > 0 else { return false }
        let elapsed = now - lastCommit
        // The length of the blob counts only from the first commit on.
        if case .rarely(let limit) = pace, recorded > offset {
            return unrecorded >= limit || elapsed >= Self.growingDelay
        }
        // At the border, no later commit could record more.
        if unrecorded >= Self.unrecordedLimit || !awaitsDigest && received >= border ?? .max { return true }
        return elapsed >= .milliseconds(200) || (unrecorded >= 128 << 10 && elapsed >= .milliseconds(10))
    }

    /// Starts a commit of everything that may be recorded.
    ///
    /// - Returns: The commit to make and then to report to ``wasRecorded(_:)``; nil if there is nothing to record.
    mutating func commit(at now: Duration) -> Commit? {
        guard hasUnrecorded else { return nil }
        lastCommit = now
        let end = recordable
        return Commit(row: row, end: end, blocks: blocks.filter { $0.length > 0 && $0.end <= end })
    }

    /// Records that a commit was made.
    ///
    /// If a commit failed, its checksums are part of the next one.
    mutating func wasRecorded(_ commit: Commit) {
        guard commit.row == row else { return }
        recorded = max(recorded, min(commit.end, received))
        blocks.removeSubrange(..<(blocks.firstIndex { $0.end > commit.end } ?? blocks.endIndex - 1))
    }

    // MARK: Flushing

    /// The number of bytes that a commit and a flush can make durable now.
    var flushable: Int64 { max(recordable, recorded) - durable }

    /// Starts a flush of everything that is recorded now.
    ///
    /// The current block ends there, so that it is complete after a power loss.
    ///
    /// - Returns: The bytes that the flush makes durable; nil if there are none.
    mutating func beginFlush() -> Commit? {
        guard recorded > durable else { return nil }
        if let last = blocks.last, last.end == recorded, last.length >= Self.blockLength / 2 {
            blocks = [Block(offset: last.end)]
        }
        return Commit(row: row, end: recorded, blocks: [])
    }

    /// Records that a flush was made and recorded.
    mutating func wasFlushed(_ flush: Commit) {
        guard flush.row == row else { return }
        durable = max(durable, min(flush.end, recorded))
    }
}

extension PartLedger: Extent {
    var offset: Int64 { row.offset }
    var length: Int64 { received - row.offset }
}
