import TestSupport
import Testing

@testable import ResumeHTTP

/// Which stored bytes are compared, and which damage that finds.
@Suite(.timeLimit(.minutes(5)))
struct SampleGridTests {
    private static let block = SampleGrid.blockLength

    /// Held ranges with gaps, as of a program with several connections.
    private static let layouts: [[Range<Int64>]] = [
        [0..<100_000_000], [0..<(133 * 4096 + 1)], [0..<3_000_000, 7_000_000..<9_000_123, 40_000_000..<40_900_000],
        (0..<300).map { $0 * 100_000..<$0 * 100_000 + 30_000 },
    ]

    private static func total(_ held: [Range<Int64>]) -> Int64 { held.reduce(0) { $0 + $1.length } }

    /// Translates a range of the stored bytes into ranges of the file.
    private static func ranges(_ run: Range<Int64>, in held: [Range<Int64>]) -> [Range<Int64>] {
        var (found, before): ([Range<Int64>], Int64) = ([], 0)
        for range in held {
            let local = run.clamped(to: before..<before + range.length)
            if !local.isEmpty {
                found.append(
                    local.lowerBound - before + range.lowerBound..<local.upperBound - before + range.lowerBound)
            }
            before += range.length
        }
        return found
    }

    @Test("J5: a run of wrong bytes longer than 1/128 of the stored ones is found each time", arguments: layouts)
    func runs(held: [Range<Int64>]) {
        var random = SplitMix64(seed: 21)
        let total = Self.total(held)
        var missed = 0
        for _ in 0..<1000 {
            let grid = SampleGrid(over: held, seed: random.next())
            for length in [total / 128 + 1, total / 100] {
                let start = Int64.random(in: 0...total - length, using: &random)
                let wrong = Self.ranges(start..<start + length, in: held)
                let isFound = grid.places.contains { place in
                    wrong.contains { $0.lowerBound < place.upperBound && place.lowerBound < $0.upperBound }
                }
                if !isFound { missed += 1 }
            }
        }
        #expect(missed == 0)
    }

    @Test(
        "J5: at least 128 blocks on the grid, the first block and the last ones, sorted and disjoint",
        arguments: layouts)
    func shape(held: [Range<Int64>]) throws {
        var random = SplitMix64(seed: 4)
        let total = Self.total(held)
        for _ in 0..<50 {
            let grid = SampleGrid(over: held, seed: random.next())
            let places = grid.places
            #expect(grid.count >= 128 && grid.count <= 135)
            #expect(Int64(grid.count) * Self.block >= Self.total(places))
            #expect(zip(places, places.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound })
            #expect(places.allSatisfy { place in held.contains { $0.contains(place) } })
            let first = Self.ranges(0..<Self.block, in: held)
            let last = Self.ranges(total - 4 * Self.block..<total, in: held)
            for range in first + last { #expect(places.contains { $0.contains(range) }, "\(range)") }
        }
    }

    @Test("J5: scattered damage is found with the probability 1 - (1 - p)^n")
    func scattered() {
        var random = SplitMix64(seed: 99)
        let blocks: Int64 = 20_000
        for share in [0.002, 0.005, 0.01, 0.02] {
            var (found, expected) = (0, 0.0)
            let rounds = 500
            for _ in 0..<rounds {
                let grid = SampleGrid(over: [0..<blocks * Self.block], seed: random.next())
                // Single wrong bytes, each in a random block.
                let wrong = (0..<Int(Double(blocks) * share)).map { _ in
                    Int64.random(in: 0..<blocks * Self.block, using: &random)
                }.sorted()
                var places = grid.places[...]
                let isFound = wrong.contains { byte in
                    places = places.drop { $0.upperBound <= byte }
                    return places.first?.contains(byte) ?? false
                }
                if isFound { found += 1 }
                let isWrong = Double(Set(wrong.map { $0 / Self.block }).count) / Double(blocks)
                var none = 1.0
                for _ in 0..<grid.count { none *= 1 - isWrong }
                expected += 1 - none
            }
            let (rate, formula) = (Double(found) / Double(rounds), expected / Double(rounds))
            // Four standard deviations.
            let tolerance = 4 * (formula * (1 - formula) / Double(rounds)).squareRoot() + 0.002
            #expect(abs(rate - formula) < tolerance, "\(share): \(rate) instead of \(formula)")
            print("scattered damage of \(share * 100) % of the blocks: found \(rate), formula \(formula)")
        }
    }

    @Test("J5: few bytes are compared completely; damaged rows do not trap")
    func limits() {
        #expect(SampleGrid(over: [0..<1000], seed: 1).places == [0..<1000])
        #expect(SampleGrid(over: [0..<1000], seed: 1).count == 1)
        #expect(SampleGrid(over: [5000..<9000, 0..<4097], seed: 1).places == [0..<4097, 5000..<9000])
        #expect(SampleGrid(over: [0..<133 * 4096], seed: 1).places == [0..<133 * 4096])
        #expect(SampleGrid(over: [], seed: 1).places.isEmpty)
        #expect(SampleGrid(over: [], seed: 1).count == 0)
        for number in [0, 1, Int64.max / 2, Int64.max - 1, Int64.max] {
            _ = SampleGrid(over: [0..<number, number..<Int64.max, -number..<number], seed: 3)
        }
        #expect(SampleGrid(over: [0..<Int64.max], seed: 7) == SampleGrid(over: [0..<Int64.max], seed: 7))
        #expect(SampleGrid(over: [0..<Int64.max], seed: 7) != SampleGrid(over: [0..<Int64.max], seed: 8))
    }
}
