import ResumeFiles

extension ForeignPartial {
    /// Which bytes of a file another program has received, if it has not recorded that.
    enum Extents {
        /// The unit in which zeros are looked for.
        private static let unit: Int64 = 65_536
        /// The shortest run of zeros inside a file that counts as reserved space.
        private static let longestZeros = 1 << 20
        /// The shortest range that is worth a row.
        private static let shortest = 4096
        /// The maximum number of ranges, which limits the rows of an entry.
        static let most = 1024

        /// Returns the ranges that were written: without holes, long runs of zeros, and zeros at the end.
        ///
        /// Zeros that belong to the file are fetched again, which costs time and nothing else.
        static func written(in file: OpenFile, upTo size: Int64) throws(SystemError) -> [Range<Int64>] {
            let data = data(in: file, upTo: size)
            var written = RangeSet(data)
            for extent in data {
                for run in try zeros(in: file, extent)
                where run.upperBound == extent.upperBound || run.count >= longestZeros {
                    written.remove(contentsOf: run)
                }
            }
            return Array(written.ranges)
        }

        /// Returns the ranges that can be relied on to be on the disk.
        ///
        /// - Parameters:
        ///   - ranges: The received ranges, in order.
        ///   - end: The end of the file.
        ///   - piecewise: Whether each range may still have been growing; otherwise only the last one.
        /// - Returns: These ranges, at most ``most``.
        static func trusted(_ ranges: [Range<Int64>], upTo end: Int64, piecewise: Bool) -> [Range<Int64>] {
            let held = ranges.map { $0.clamped(to: 0..<max(end, 0)) }.filter { !$0.isEmpty }
            let trusted = held.enumerated().map { index, range in
                guard piecewise || index == held.count - 1 else { return range }
                return range.lowerBound..<max(range.lowerBound, range.upperBound - ForeignPartial.untrustedTail)
            }
            return Array(trusted.filter { $0.count >= shortest }.prefix(most))
        }

        /// Returns the ranges that are not holes.
        static func data(in file: OpenFile, upTo size: Int64) -> [Range<Int64>] {
            var ranges: [Range<Int64>] = []
            var position: Int64 = 0
            while position < size {
                var (start, end): (Int64, Int64) = (0, 0)
                switch unsafe resume_files_next_data(file.descriptor, position, &start, &end) {
                case 1 where start >= position && end > start:
                    ranges.append(start..<min(end, size))
                    position = end
                case 0: return ranges
                // The file system cannot tell.
                default: return ranges + [position..<size]
                }
            }
            return ranges
        }

        /// Returns runs of zeros that consist of whole units.
        private static func zeros(in file: OpenFile, _ range: Range<Int64>) throws(SystemError) -> [Range<Int64>] {
            var runs: [Range<Int64>] = []
            for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(unit)) {
                let end = min(start + unit, range.upperBound)
                let part = try file.bytes((start..<end).count, at: start)
                guard part.count == (start..<end).count else { break }
                if part.allSatisfy({ $0 == 0 }) { runs.append(joining: start..<end) }
            }
            return runs
        }
    }
}
