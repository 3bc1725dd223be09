internal import Synchronization
internal import TestSupport

/// Random choices that a seed repeats, from any thread.
final class Chance: Sendable {
    private let generator: Mutex<SplitMix64>

    init(seed: UInt64) {
        generator = Mutex(SplitMix64(seed: seed))
    }

    private func next() -> UInt64 { generator.withLock { $0.next() } }

    func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Returns true with the given probability in percent.
    func happens(_ percent: Int) -> Bool { number(1...100) <= percent }

    /// One of several; nil if there are none.
    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[number(0...elements.count - 1)]
    }

    /// A seed for another generator.
    func seed() -> UInt64 { next() }
}
