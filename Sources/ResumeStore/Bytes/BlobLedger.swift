extension BlobWriter {
    /// The accounts of all parts of a blob, in order of their offsets.
    struct Ledger {
        private(set) var parts: [PartLedger]
        /// The offset of the part that the main stream writes.
        private(set) var mainOffset: Int64
        /// The most bytes that a power loss may cost.
        private let interval: Int64

        /// Creates the accounts of an entry.
        ///
        /// - Parameters:
        ///   - entry: The entry.
        ///   - now: The time, by the store's clock.
        ///   - interval: The most bytes that a power loss may cost.
        init(_ entry: Entry, at now: Duration, interval: Int64) {
            let chunks = entry.chunks
            mainOffset = entry.part.offset
            self.interval = interval
            parts = chunks.enumerated().map { index, chunk in
                PartLedger(
                    entry.part(at: chunk.offset), received: chunk.end,
                    durable: chunk.offset.addingSaturating(chunk.durable),
                    isFollowed: index + 1 < chunks.count && chunks[index + 1].offset == chunk.end, at: now)
            }
            if chunks.isEmpty { insert(PartLedger(entry.part, received: 0, durable: 0, at: now)) }
            commit(pace(of: entry))
        }

        /// Returns how often the parts of an entry are committed.
        private func pace(of entry: Entry) -> PartLedger.Pace {
            if entry.id == 0 { return .never }
            guard entry.grows, entry.chunks.count < 2 else { return .often }
            return .rarely(upTo: min(interval / 4, PartLedger.mostGrowing))
        }

        /// Changes how often all parts are committed.
        mutating func commit(_ pace: PartLedger.Pace) {
            for index in parts.indices { parts[index].pace = pace }
        }

        /// Changes the account of a part.
        ///
        /// - Parameters:
        ///   - offset: The offset of the part; nil for the one that the main stream writes.
        ///   - change: The change.
        /// - Returns: What the closure returns; nil if there is no such part.
        @discardableResult
        mutating func update<Result>(_ offset: Int64?, _ change: (inout PartLedger) -> Result) -> Result? {
            let offset = offset ?? mainOffset
            return parts.firstIndex { $0.offset == offset }.map { change(&parts[$0]) }
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
                end = part.received
                isFollowed = part.isFollowed
            }
            return end
        }

        /// The number of bytes that a commit and a flush can make durable now.
        var flushable: Int64 { parts.sum(\.flushable) }

        /// Records that the part that ends at an offset continues in the part that begins there, since its stream compares
        /// the bytes before it writes.
        mutating func follow(upTo offset: Int64) {
            for index in parts.indices where parts[index].received == offset { parts[index].isFollowed = true }
        }

        /// The number of bytes that a power loss would cost, recorded or not.
        var atRisk: Int64 { parts.sum { $0.received - $0.durable } }

        /// Starts a flush of the blob.
        ///
        /// - Returns: The bytes that it makes durable.
        mutating func beginFlush() -> [PartLedger.Commit] {
            parts.indices.compactMap { parts[$0].beginFlush() }
        }

        /// Records that a flush was made and recorded.
        mutating func wasFlushed(_ flushes: [PartLedger.Commit]) {
            for flush in flushes { update(flush.row.offset) { $0.wasFlushed(flush) } }
        }
    }
}
