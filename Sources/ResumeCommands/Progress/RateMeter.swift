extension ProgressState {
    /// Measures a rate over the last seconds.
    struct RateMeter {
        private var samples: [(at: ContinuousClock.Instant, bytes: Int64)] = []

        /// Records how many bytes have been received until a point in time.
        mutating func record(_ bytes: Int64, at now: ContinuousClock.Instant) {
            samples.append((now, bytes))
            // At least two samples are kept, so that there is always a rate.
            let old = samples.dropLast(2).prefix { now - $0.at > .seconds(5) }.count
            samples.removeFirst(old)
        }

        /// The bytes per second; nil if too little time was measured.
        var rate: Int64? {
            guard let first = samples.first, let last = samples.last, last.at - first.at >= .milliseconds(200) else {
                return nil
            }
            return Self.rate(of: last.bytes - first.bytes, in: last.at - first.at)
        }

        /// Returns the bytes per second of a number of bytes that took a time.
        static func rate(of bytes: Int64, in time: Duration) -> Int64 {
            let seconds = time / .seconds(1)
            return seconds > 0 ? Int64(exactly: max(Double(bytes) / seconds, 0).rounded(.down)) ?? .max : 0
        }
    }
}
