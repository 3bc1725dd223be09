/// The blocks of stored bytes that are requested again and compared, if nothing else proves that the server has these
/// bytes.
///
/// The blocks lie on an even grid with a random phase, so that every run of wrong bytes longer than 1/128 of the stored
/// bytes overlaps one of them. If a part p of the blocks has wrong bytes at scattered places, n samples find one with
/// probability 1 - (1 - p)^n.
package struct SampleGrid: Sendable, Hashable {
    /// The number of bytes of a sample.
    static let blockLength: Int64 = 4096
    /// The smallest number of blocks on the grid.
    static let blocks: Int64 = 128
    /// The number of blocks at the end that are always compared, in addition to the first one.
    static let lastBlocks: Int64 = 4

    /// The ranges to compare, sorted, disjoint and not adjacent.
    let places: [Range<Int64>]
    /// The number of samples, each of up to ``blockLength`` bytes.
    var count: Int {
        Int(clamping: places.totalLength / Self.blockLength &+ (places.totalLength % Self.blockLength > 0 ? 1 : 0))
    }

    /// Chooses the blocks; all stored bytes if they are not many more.
    ///
    /// - Parameters:
    ///   - held: The stored ranges, in any order.
    ///   - seed: Decides about the phase; nil for a random one.
    package init(over held: [Range<Int64>], seed: UInt64?) {
        let held = Self.sound(held)
        let total = held.totalLength
        let blocks = Self.blocks &+ Self.lastBlocks &+ 1
        guard total > blocks * Self.blockLength else {
            places = held
            return
        }
        let step = total / Self.blocks
        let phase = Int64((seed ?? .random(in: .min ... .max)) % UInt64(step))
        let grid = stride(from: phase, to: total, by: Int64.Stride(step)).map { start in
            start..<start &+ min(Self.blockLength, total &- start)
        }
        let all = Self.sound(
            [0..<Self.blockLength] + grid + [total &- Self.lastBlocks * Self.blockLength..<total])
        places = Self.ranges(at: all, in: held)
    }

    /// Returns the ranges sorted and joined, without negative ones, as damaged rows may contain.
    ///
    /// Their total length cannot overflow, since they are disjoint.
    private static func sound(_ ranges: [Range<Int64>]) -> [Range<Int64>] {
        Array(RangeSet(ranges.filter { $0.lowerBound >= 0 }).ranges)
    }

    /// Translates ranges of the stored bytes, counted without gaps, into ranges of the file; both are sorted.
    private static func ranges(at places: [Range<Int64>], in held: [Range<Int64>]) -> [Range<Int64>] {
        var before = Int64(0)
        return held.flatMap { range in
            let own = before..<before + range.length
            defer { before = own.upperBound }
            let shift = range.lowerBound - own.lowerBound
            let parts = places.map { $0.clamped(to: own) }.filter { !$0.isEmpty }
            return parts.map { $0.lowerBound + shift..<$0.upperBound + shift }
        }
    }
}
