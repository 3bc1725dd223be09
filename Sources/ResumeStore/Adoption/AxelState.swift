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
            guard let count = bytes.number(at: 0, count: width, isReversed: true), count > 0, count <= 65_535,
                bytes.count == width + 8 + 16 * Int(count)
            else { continue }
            var missing: [Range<Int64>] = []
            var end: Int64 = 0
            for index in 0..<Int(count) {
                let place = width + 8 + 16 * index
                guard let position = bytes.number(at: place, count: 8, isReversed: true),
                    let last = bytes.number(at: place + 8, count: 8, isReversed: true), last < Int64.max
                else { return nil }
                end = max(end, last)
                // In some releases the end is the last byte, in others the byte after it.
                if position < last { missing.append(position..<last + 1) }
            }
            finished = missing.gaps(upTo: end)
            return
        }
        return nil
    }
}
