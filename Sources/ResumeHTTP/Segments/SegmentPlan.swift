/// Decides which bytes of a representation are fetched over which connections; the engine carries it out.
///
/// It is a value without I/O and without a clock. The engine asks after every event and from time to time, and carries
/// out the actions before it asks again. The ranges of actions never overlap stored, requested or arriving bytes.
package struct SegmentPlan: Sendable {
    package struct Stream: Sendable, Hashable {
        /// The identity of the stream.
        var id: Int
        /// The first byte that it received.
        var start: Int64
        /// The next byte that it will receive.
        var position: Int64
        /// The end of its range, excluded.
        var end: Int64

        /// Creates a stream; `start` is `position` if it is nil.
        package init(id: Int, start: Int64? = nil, position: Int64, end: Int64) {
            self.id = id
            self.start = start ?? position
            self.position = position
            self.end = end
        }

        /// The number of bytes that it has not received yet.
        fileprivate var rest: Int64 { max(end - position, 0) }
    }

    package struct State: Sendable {
        /// The stored ranges, sorted and not adjacent.
        var held: [Range<Int64>]
        var running: [Stream]
        /// The requested ranges without a response so far.
        var asked: [Range<Int64>]
        /// The time in seconds since any fixed moment.
        var now: Double

        package init(held: [Range<Int64>], running: [Stream], asked: [Range<Int64>] = [], now: Double) {
            self.held = held
            self.running = running
            self.asked = asked
            self.now = now
        }

        fileprivate var connections: Int { running.count + asked.count }
        fileprivate var heldBytes: Int64 { held.totalLength }
    }

    /// A step for the engine.
    package enum Action: Sendable, Hashable {
        /// Request a range. After the response, the stream in whose range it lies ends at the beginning of this range.
        case open(Range<Int64>, splitting: Int?)
        /// Close a stream; its missing bytes are requested over another connection.
        case close(Int)
    }

    /// The minimum number of bytes for which a stream is split; gaps that no stream fills may be smaller.
    static let leastLength: Int64 = 1 << 20
    /// The minimum number of seconds that a stream must have left to be split.
    private static let leastTime = 0.3

    private let length: Int64
    /// The number of bytes that are compared where two ranges meet.
    private let overlap: Int64
    /// The maximum number of streams.
    package private(set) var limit: Int
    private var pace = Pace()
    private var closedUntil = 0.0

    /// Begins without streams.
    ///
    /// - Parameters:
    ///   - length: The length of the representation in bytes.
    ///   - connections: The maximum number of concurrent streams.
    ///   - overlap: The number of bytes that are compared where two ranges meet.
    package init(length: Int64, connections: Int, overlap: Int64 = ResumePolicy.defaultOverlap) {
        self.length = length
        self.overlap = overlap
        limit = max(connections, 1)
    }

    /// Limits the number of streams to the running ones after the server refused another connection.
    package mutating func refused(running: Int) { limit = max(min(limit, running), 1) }

    /// Opens no streams before a point in time, after one failed.
    package mutating func wait(until time: Double) { closedUntil = max(closedUntil, time) }

    /// Returns the next steps.
    package mutating func actions(_ state: State) -> [Action] {
        pace.note(state.running, heldBytes: state.heldBytes, isFull: state.connections == limit, now: state.now)
        if let id = pace.straggler(among: state.running) { return [.close(id)] }
        switch pace.trial(of: state.running, left: length - state.heldBytes, now: state.now) {
        case .close(let ids): return ids.map { .close($0) }
        case .limit(let limit): self.limit = max(min(self.limit, limit), 1)
        case nil: break
        }
        var free = min(limit, pace.trialLimit ?? limit) - state.connections
        guard limit > 1, free > 0, state.now >= closedUntil else { return [] }
        var actions: [Action] = []
        for gap in gaps(state) where free > 0 {
            free -= 1
            if !adjoinsTooLittle(gap, state) { actions.append(.open(gap, splitting: nil)) }
        }
        // Requested ranges lie within those of running streams. Streams are split one after the other: a new one takes
        // all of the rest of another one, and is split next.
        guard free > 0, state.asked.isEmpty, actions.isEmpty,
            let largest = state.running.max(by: { $0.rest < $1.rest })
        else {
            return actions
        }
        return split(largest, among: free).map { [$0] } ?? []
    }

    /// Whether the stored bytes before a gap are shorter than the overlap and their other side is still missing.
    ///
    /// Then they would be the only bytes to compare with both sides, so the gap waits until the bytes before them
    /// arrive.
    private func adjoinsTooLittle(_ gap: Range<Int64>, _ state: State) -> Bool {
        guard let before = state.held.first(where: { $0.upperBound == gap.lowerBound }), before.length < overlap
        else { return false }
        return state.running.contains { $0.end == before.lowerBound && $0.position < $0.end }
            || state.asked.contains { $0.upperBound == before.lowerBound }
            || gaps(state).contains { $0.upperBound == before.lowerBound }
    }

    /// Returns the ranges that are not stored, requested or arriving.
    private func gaps(_ state: State) -> [Range<Int64>] {
        let taken = state.held + state.asked + state.running.map { $0.position..<max($0.position, $0.end) }
        return taken.gaps(upTo: length)
    }

    /// Splits the rest of a stream into equal pieces, and requests all of them except the first.
    private func split(_ stream: Stream, among count: Int) -> Action? {
        let rest = stream.rest
        let pieces = Int(min(Int64(count) + 1, rest / Self.leastLength))
        guard pieces > 1, pace.rate(of: stream.id).map({ Double(rest) / $0 >= Self.leastTime }) ?? true else {
            return nil
        }
        // A new stream is divided including the received bytes: the first bytes may have arrived in a burst, as from
        // servers that limit a rate over seconds.
        let isNew = (stream.position - stream.start) < rest / Int64(2 * pieces)
        let base = isNew ? stream.start : stream.position
        let size = (rest + stream.position - base) / Int64(pieces)
        return .open(base + size..<stream.end, splitting: stream.id)
    }
}

extension Range where Bound == Int64 {
    /// The number of bytes in the range; the largest possible number if it overflows.
    var length: Int64 {
        let (length, overflow) = upperBound.subtractingReportingOverflow(lowerBound)
        return overflow ? .max : length
    }
}

extension [Range<Int64>] {
    /// The number of bytes in all ranges, which must not overlap.
    var totalLength: Int64 { reduce(0) { $0 &+ $1.length } }

    /// Returns what is between the ranges, which may be in any order.
    package func gaps(upTo end: Int64) -> [Range<Int64>] {
        Array(RangeSet(0..<end).subtracting(RangeSet(self)).ranges)
    }
}
