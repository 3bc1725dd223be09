internal import Synchronization
internal import TestSupport

/// Random choices that a seed repeats, from any thread.
final class Chance: Sendable {
    private let generator: Mutex<SplitMix64>

    init(seed: UInt64) {
        generator = Mutex(SplitMix64(seed: seed))
    }

    private func next() -> UInt64 { generator.withLock { $0.next() } }

    /// A number of a range.
    func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    /// Whether something happens that does so many times of a hundred.
    func happens(_ percent: Int) -> Bool { number(1...100) <= percent }

    /// One of several; nil where there is none.
    func pick<Element>(_ elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[number(0...elements.count - 1)]
    }

    /// A seed for something else.
    func seed() -> UInt64 { next() }
}
