/// The state file of axel (`.st`): where each of its connections is.
///
/// Source: `save_state` in axel's `src/axel.c`. It has the number of connections, the number of received bytes, and for
/// each connection its position and its end, in the byte order of the machine, which is taken to be little-endian. The
/// files of releases before 2.17.2 have no ends and are not read.
struct AxelState: Sendable, Hashable {
    /// The finished ranges, in order.
    let finished: [Range<Int64>]

    /// The largest state file that is read.
    static let longest = 1 << 20

    /// Reads a state file; nil if it does not have the format.
    init?(_ bytes: [UInt8]) {
        // The number of connections has 16 bits, formerly 32.
        for width in [2, 4] {
            guard let count = Self.number(bytes, at: 0, width), count > 0, count <= 65_535,
                bytes.count == width + 8 + 16 * Int(count)
            else { continue }
            var missing: [Range<Int64>] = []
            var end: Int64 = 0
            for index in 0..<Int(count) {
                let place = width + 8 + 16 * index
                guard let position = Self.number(bytes, at: place, 8), let last = Self.number(bytes, at: place + 8, 8),
                    last < Int64.max
                else { return nil }
                end = max(end, last)
                // In some releases the end is the last byte, in others the byte after it.
                if position < last { missing.append(position..<last + 1) }
            }
            finished = Self.complement(of: missing, upTo: end)
            return
        }
        return nil
    }

    private static func complement(of missing: [Range<Int64>], upTo end: Int64) -> [Range<Int64>] {
        var (finished, position): ([Range<Int64>], Int64) = ([], 0)
        for range in missing.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > position { finished.append(position..<range.lowerBound) }
            position = max(position, range.upperBound)
        }
        if end > position { finished.append(position..<end) }
        return finished
    }

    /// Reads a number; nil if it is cut off or has more than 63 bits.
    private static func number(_ bytes: [UInt8], at offset: Int, _ count: Int) -> Int64? {
        guard offset >= 0, count <= bytes.count, offset <= bytes.count - count else { return nil }
        let number = bytes[offset..<offset + count].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int64(exactly: number)
    }
}
