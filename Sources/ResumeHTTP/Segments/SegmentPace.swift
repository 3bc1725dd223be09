/// How fast streams are, and whether each of them helps.
///
/// Measured over seconds, since servers that limit a rate send in bursts.
struct SegmentPace: Sendable {
    /// What is to be done about too many connections.
    enum Finding: Equatable {
        /// End these, to see what that costs.
        case close([Int])
        /// So many bring as much as more did.
        case limit(Int)
    }

    private struct Mark {
        var position: Int64
        var time: Double
        /// Bytes a second; nil until it is known.
        var rate: Double?
    }

    /// A number of streams that is being measured.
    private struct Measure {
        var connections: Int
        var bytes: Int64
        var since: Double
    }

    private enum Phase {
        case measuring(Measure?)
        /// Fewer streams than before, who had this rate.
        case trying(Measure, instead: Int, rate: Double)
        case done
    }

    /// How long a stream is looked at before it counts as slow.
    private static let window = 2.0
    /// A stream that is so many times slower than the others is handed over.
    private static let slowness = 8.0
    /// How long the rate of all is measured.
    private static let trialWindow = 4.0
    /// A trial costs a part of a few seconds: only a download that takes so long by now is worth it.
    private static let leastTimeForTrial = 60.0

    private var marks: [Int: Mark] = [:]
    private var phase = Phase.measuring(nil)
    private var isFull = false
    private var heldBytes: Int64 = 0

    /// Takes note of how far streams have come.
    mutating func note(_ running: [SegmentPlan.Stream], heldBytes: Int64, isFull: Bool, now: Double) {
        self.isFull = isFull
        self.heldBytes = heldBytes
        var marks: [Int: Mark] = [:]
        for stream in running {
            guard var mark = self.marks[stream.id] else {
                marks[stream.id] = Mark(position: stream.position, time: now)
                continue
            }
            let elapsed = now - mark.time
            if elapsed >= Self.window {
                mark = Mark(
                    position: stream.position, time: now, rate: Double(stream.position - mark.position) / elapsed)
            }
            marks[stream.id] = mark
        }
        self.marks = marks
    }

    /// Bytes a second; nil where that is not known, or nothing.
    func rate(of id: Int) -> Double? { marks[id]?.rate.flatMap { $0 > 0 ? $0 : nil } }

    /// The slowest stream, where it is much slower than the others.
    mutating func straggler(among running: [SegmentPlan.Stream]) -> Int? {
        let rates = running.compactMap { stream in marks[stream.id]?.rate.map { (stream.id, $0) } }
        guard let slowest = rates.min(by: { $0.1 < $1.1 }), rates.count > 1 else { return nil }
        let others = rates.reduce(0) { $0 + $1.1 } - slowest.1
        guard slowest.1 * Self.slowness < others / Double(rates.count - 1) else { return nil }
        // Told once for each window.
        marks[slowest.0]?.rate = nil
        return slowest.0
    }

    /// How many streams there may be while it is tried with fewer; nil where it is not.
    var trialLimit: Int? {
        if case .trying(let measure, _, _) = phase { measure.connections } else { nil }
    }

    /// Whether fewer streams bring as much: found out once, by trying, where the download takes long.
    ///
    /// - Parameters:
    ///   - running: The streams.
    ///   - left: How many bytes are missing.
    ///   - now: The time.
    /// - Returns: What to do about it; nil for nothing.
    mutating func trial(of running: [SegmentPlan.Stream], left: Int64, now: Double) -> Finding? {
        switch phase {
        case .done: return nil
        case .measuring(let measure):
            guard isFull, running.count > 1 else {
                phase = .measuring(nil)
                return nil
            }
            guard let measure, measure.connections == running.count else {
                phase = .measuring(Measure(connections: running.count, bytes: heldBytes, since: now))
                return nil
            }
            guard let rate = rate(of: measure, now) else { return nil }
            guard rate > 0, Double(left) / rate >= Self.leastTimeForTrial else {
                phase = .measuring(nil)
                return nil
            }
            // A quarter of them, the youngest: enough for the difference to show.
            let excess = max(running.count / 4, 1)
            let fewer = Measure(connections: running.count - excess, bytes: heldBytes, since: now)
            phase = .trying(fewer, instead: running.count, rate: rate)
            return .close(running.map(\.id).sorted().suffix(excess))
        case .trying(let measure, let before, let rate):
            guard let tried = self.rate(of: measure, now) else { return nil }
            let isEnough = tried >= 0.95 * rate
            phase = isEnough && measure.connections > 1 ? .measuring(nil) : .done
            return .limit(isEnough ? measure.connections : before)
        }
    }

    private func rate(of measure: Measure, _ now: Double) -> Double? {
        let elapsed = now - measure.since
        return elapsed >= Self.trialWindow ? Double(heldBytes - measure.bytes) / elapsed : nil
    }
}
