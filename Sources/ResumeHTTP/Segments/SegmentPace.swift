extension SegmentPlan {
    /// Measures the rates of streams and detects streams that do not help.
    ///
    /// Rates are averaged over seconds, since servers that limit a rate send in bursts.
    struct Pace {
        /// How to reduce the number of connections.
        enum Finding: Equatable {
            /// Close these streams, to measure the effect on the total rate.
            case close([Int])
            /// Use at most this many connections: more are no faster.
            case limit(Int)
        }

        private struct Mark {
            var position: Int64
            var time: Double
            /// Bytes per second; nil until it is known.
            var rate: Double?
        }

        /// The measurement of a number of streams.
        private struct Measure {
            var connections: Int
            var bytes: Int64
            var since: Double
        }

        private enum Phase {
            case measuring(Measure?)
            /// Fewer streams than before are measured; `rate` is the rate of the previous number.
            case trying(Measure, instead: Int, rate: Double)
            case done
        }

        /// Seconds after which a stream can count as slow.
        private static let window = 2.0
        /// A stream that is slower than the average of the others by more than this factor is replaced.
        private static let slowness = 8.0
        /// Seconds over which the total rate is measured.
        private static let trialWindow = 4.0
        /// A trial slows a download down for a few seconds, so the remaining time must be at least this many seconds.
        private static let leastTimeForTrial = 60.0

        private var marks: [Int: Mark] = [:]
        private var phase = Phase.measuring(nil)
        private var isFull = false
        private var heldBytes: Int64 = 0

        /// Records the positions of the streams.
        mutating func note(_ running: [SegmentPlan.Stream], heldBytes: Int64, isFull: Bool, now: Double) {
            self.isFull = isFull
            self.heldBytes = heldBytes
            let known = marks
            marks = [:]
            for stream in running {
                var mark = known[stream.id] ?? Mark(position: stream.position, time: now)
                let elapsed = now - mark.time
                if elapsed >= Self.window {
                    mark = Mark(
                        position: stream.position, time: now, rate: Double(stream.position - mark.position) / elapsed)
                }
                marks[stream.id] = mark
            }
        }

        /// Returns a stream's rate in bytes per second; nil if it is unknown or zero.
        func rate(of id: Int) -> Double? { marks[id]?.rate.flatMap { $0 > 0 ? $0 : nil } }

        /// Returns the slowest stream if it is much slower than the others.
        mutating func straggler(among running: [SegmentPlan.Stream]) -> Int? {
            let rates = running.compactMap { stream in marks[stream.id]?.rate.map { (stream.id, $0) } }
            guard let slowest = rates.min(by: { $0.1 < $1.1 }), rates.count > 1 else { return nil }
            let others = rates.reduce(0) { $0 + $1.1 } - slowest.1
            guard slowest.1 * Self.slowness < others / Double(rates.count - 1) else { return nil }
            // Reported once per window.
            marks[slowest.0]?.rate = nil
            return slowest.0
        }

        /// The number of streams during a trial with fewer streams; nil if there is no trial.
        var trialLimit: Int? {
            if case .trying(let measure, _, _) = phase { measure.connections } else { nil }
        }

        /// Tries whether fewer streams reach the same rate, if the download takes long enough.
        ///
        /// A successful trial is followed by another one; after one that is slower, there are no more.
        ///
        /// - Parameters:
        ///   - running: The streams.
        ///   - left: The number of missing bytes.
        ///   - now: The current time in seconds.
        /// - Returns: How to reduce the number of connections; nil if there is nothing to do.
        mutating func trial(of running: [SegmentPlan.Stream], left: Int64, now: Double) -> Finding? {
            switch phase {
            case .done: return nil
            case .measuring(let measure):
                let isUseful = isFull && running.count > 1
                guard isUseful, let measure, measure.connections == running.count else {
                    let fresh = Measure(connections: running.count, bytes: heldBytes, since: now)
                    phase = .measuring(isUseful ? fresh : nil)
                    return nil
                }
                guard let rate = rate(of: measure, now) else { return nil }
                guard rate > 0, Double(left) / rate >= Self.leastTimeForTrial else {
                    phase = .measuring(nil)
                    return nil
                }
                // A quarter of the streams, the newest ones: enough to see a difference.
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
}
