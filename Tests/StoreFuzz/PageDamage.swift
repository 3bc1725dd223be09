internal import TestSupport

/// Damage of a database file, its log or a garbage file beside it, as values.
enum PageDamage: Sendable {
    case bytes([(offset: Int, value: UInt8)])
    case copiedPage(from: Int, to: Int)
    case zeroedPage(Int)
    case noisyPage(Int, seed: UInt64)
    case truncated(Int)
    case extended(Int, seed: UInt64)

    static let pageSize = 4096

    /// Returns damage for a file.
    ///
    /// - Parameters:
    ///   - length: The file's length.
    ///   - header: The length of its header.
    ///   - random: The random number generator.
    /// - Returns: The damage.
    static func random(length: Int, header: Int, using random: inout SplitMix64) -> PageDamage {
        let length = max(length, 1)
        let pages = max(length / pageSize, 1)
        func page() -> Int { Int.random(in: 0..<pages, using: &random) }
        switch Int.random(in: 0..<16, using: &random) {
        case 0..<4:
            return .bytes((0..<Int.random(in: 1...32, using: &random)).map { _ in byte(below: length, &random) })
        case 4..<8:
            // Page headers, which control what SQLite reads.
            return .bytes(
                (0..<Int.random(in: 1...8, using: &random)).map { _ in
                    let place = page() * pageSize + Int.random(in: 0..<128, using: &random)
                    return (min(place, length - 1), value(&random))
                })
        case 8..<11: return .bytes([byte(below: min(header, length), &random)])
        case 11: return .copiedPage(from: page(), to: page())
        case 12: return .zeroedPage(page())
        case 13: return .noisyPage(page(), seed: random.next())
        case 14: return .truncated(Int.random(in: 0..<length, using: &random))
        default: return .extended(Int.random(in: 1...20_000, using: &random), seed: random.next())
        }
    }

    private static func byte(below limit: Int, _ random: inout SplitMix64) -> (offset: Int, value: UInt8) {
        (Int.random(in: 0..<limit, using: &random), value(&random))
    }

    private static func value(_ random: inout SplitMix64) -> UInt8 {
        random.happens(40) ? random.pick([0, 1, 2, 0x7F, 0x80, 0xFF]) : UInt8.random(in: 0...255, using: &random)
    }

    /// Applies the damage.
    func apply(to file: inout [UInt8]) {
        let size = Self.pageSize
        func range(_ page: Int) -> Range<Int> { min(page * size, file.count)..<min((page + 1) * size, file.count) }
        switch self {
        case .bytes(let bytes):
            for (offset, value) in bytes where offset < file.count { file[offset] = value }
        case .copiedPage(let from, let to):
            let bytes = Array(file[range(from)])
            let target = range(to)
            file.replaceSubrange(target, with: bytes.prefix(target.count))
        case .zeroedPage(let page):
            file.replaceSubrange(range(page), with: [UInt8](repeating: 0, count: range(page).count))
        case .noisyPage(let page, let seed):
            file.replaceSubrange(range(page), with: sampleBytes(range(page).count, seed: seed))
        case .truncated(let length): file.removeLast(max(file.count - length, 0))
        case .extended(let count, let seed): file += sampleBytes(count, seed: seed)
        }
    }
}
