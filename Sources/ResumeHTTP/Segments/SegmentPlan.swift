/// Which bytes of a representation are fetched over which connections: decided here, done by the engine.
///
/// A value without I/O and without a clock. It is asked whenever something has happened, and from time to time; what it
/// says is done before it is asked again. The ranges that it names never overlap what is held, asked for, or on its way.
package struct SegmentPlan: Sendable {
    /// One stream that is running.
    package struct Stream: Sendable, Hashable {
        /// What names it.
        package var id: Int
        /// The first byte that it brought.
        package var start: Int64
        /// The next byte that it brings.
        package var position: Int64
        /// Where it ends, excluded.
        package var end: Int64

        /// Makes a stream.
        package init(id: Int, start: Int64? = nil, position: Int64, end: Int64) {
            self.id = id
            self.start = start ?? position
            self.position = position
            self.end = end
        }

        /// How many bytes it has still to bring.
        fileprivate var rest: Int64 { max(end - position, 0) }
    }

    /// How things stand.
    package struct State: Sendable {
        /// What is held, in order and apart from one another.
        package var held: [Range<Int64>]
        /// The streams.
        package var running: [Stream]
        /// What was asked for, and not answered yet.
        package var asked: [Range<Int64>]
        /// Seconds since any moment.
        package var now: Double

        /// Makes a state.
        package init(held: [Range<Int64>], running: [Stream], asked: [Range<Int64>] = [], now: Double) {
            self.held = held
            self.running = running
            self.asked = asked
            self.now = now
        }

        fileprivate var connections: Int { running.count + asked.count }
        fileprivate var heldBytes: Int64 { held.reduce(0) { $0 + $1.length } }
    }

    /// What to do.
    package enum Action: Sendable, Hashable {
        /// Ask for a range; where it is answered, the stream within whose range it lies ends where it begins.
        case open(Range<Int64>, splitting: Int?)
        /// End a stream: what it has not brought is asked for over another connection.
        case close(Int)
    }

    /// No stream is opened for fewer bytes, unless nobody else brings them.
    package static let leastLength: Int64 = 1 << 20
    /// Nor where less than this is left to do, in seconds.
    private static let leastTime = 0.3

    /// The length of the representation.
    private let length: Int64
    /// How many bytes are compared where two ranges meet.
    private let overlap: Int64
    /// How many streams there may be.
    package private(set) var limit: Int
    private var pace = SegmentPace()
    private var closedUntil = 0.0

    /// Begins with no stream.
    ///
    /// - Parameters:
    ///   - length: How many bytes there are in all.
    ///   - connections: How many streams there may be at a time.
    ///   - overlap: How many bytes are compared where two ranges meet.
    package init(length: Int64, connections: Int, overlap: Int64 = ResumePolicy.defaultOverlap) {
        self.length = length
        self.overlap = overlap
        limit = max(connections, 1)
    }

    /// Takes note that the server wants no more connections than there are.
    package mutating func refused(running: Int) { limit = max(min(limit, running), 1) }

    /// Opens no stream before a moment, after one has failed.
    package mutating func wait(until time: Double) { closedUntil = max(closedUntil, time) }

    /// What to do as things stand.
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
        // What has been asked for lies within the ranges of those who run. One after the other: each new stream takes all
        // that is left of another one, which then meets it, and is divided itself next.
        guard free > 0, state.asked.isEmpty, actions.isEmpty,
            let largest = state.running.max(by: { $0.rest < $1.rest })
        else {
            return actions
        }
        return split(largest, among: free).map { [$0] } ?? []
    }

    /// Whether so few bytes are held before a gap that they would be all that connects what comes on both sides of them.
    ///
    /// The gap waits for those who bring what lies before them.
    private func adjoinsTooLittle(_ gap: Range<Int64>, _ state: State) -> Bool {
        guard let before = state.held.first(where: { $0.upperBound == gap.lowerBound }), before.length < overlap
        else { return false }
        return state.running.contains { $0.end == before.lowerBound && $0.position < $0.end }
            || state.asked.contains { $0.upperBound == before.lowerBound }
            || gaps(state).contains { $0.upperBound == before.lowerBound }
    }

    /// What nobody holds or brings.
    private func gaps(_ state: State) -> [Range<Int64>] {
        let taken =
            (state.held + state.asked + state.running.map { $0.position..<max($0.position, $0.end) })
            .sorted { $0.lowerBound < $1.lowerBound }
        var gaps: [Range<Int64>] = []
        var end: Int64 = 0
        for range in taken + [length..<length] {
            if range.lowerBound > end { gaps.append(end..<range.lowerBound) }
            end = max(end, range.upperBound)
        }
        return gaps
    }

    /// The rest of a stream but for the first of so many equal pieces.
    private func split(_ stream: Stream, among count: Int) -> Action? {
        let rest = stream.rest
        let pieces = Int(min(Int64(count) + 1, rest / Self.leastLength))
        guard pieces > 1, pace.rate(of: stream.id).map({ Double(rest) / $0 >= Self.leastTime }) ?? true else {
            return nil
        }
        // One that has just begun is divided as a whole: what comes first may have come at once, as from servers that
        // limit a rate over seconds.
        let isNew = (stream.position - stream.start) < rest / Int64(2 * pieces)
        let base = isNew ? stream.start : stream.position
        let size = (rest + stream.position - base) / Int64(pieces)
        return .open(base + size..<stream.end, splitting: stream.id)
    }
}

extension Range where Bound == Int64 {
    /// How many bytes it has; as many as can be told, where it reaches over more than there can be.
    var length: Int64 {
        let (length, overflow) = upperBound.subtractingReportingOverflow(lowerBound)
        return overflow ? .max : length
    }
}
