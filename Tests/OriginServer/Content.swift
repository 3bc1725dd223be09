/// The bytes of a representation, generated from a seed on demand, or literal.
///
/// Seeded content depends only on the seed and the offset: any range can be generated at any time, always the same, and
/// a file of many gigabytes needs no memory. Two contents with the same seed and different lengths agree in the bytes
/// that both have.
public struct Content: Sendable, Equatable {
    /// The source of the bytes.
    private enum Source: Sendable, Equatable {
        case seeded(UInt64)
        case literal([UInt8])
    }

    /// The number of bytes.
    public private(set) var length: Int64
    private var source: Source

    /// The size of a word of seeded content, in bytes.
    private static let wordSize: Int64 = 8

    /// Creates seeded content.
    ///
    /// - Parameters:
    ///   - length: The number of bytes. A negative number is treated as 0.
    ///   - seed: The seed of the bytes. Different seeds give unrelated bytes.
    public init(length: Int64, seed: UInt64) {
        self.length = max(0, length)
        self.source = .seeded(seed)
    }

    /// Creates content of the given bytes.
    ///
    /// - Parameter bytes: All bytes.
    public init(_ bytes: [UInt8]) {
        self.length = Int64(bytes.count)
        self.source = .literal(bytes)
    }

    /// Creates content of the UTF-8 form of a text.
    ///
    /// - Parameter text: The text.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The range of the whole content.
    public var all: Range<Int64> { 0..<length }

    /// Returns the bytes of a range.
    ///
    /// - Parameter range: Offsets in the content. Offsets outside the content are left out.
    /// - Returns: The bytes, `range.count` of them if the range is within the content.
    public func bytes(in range: Range<Int64>) -> [UInt8] {
        let range = range.clamped(to: all)
        switch source {
        case .literal(let bytes):
            return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
        case .seeded(let seed):
            return Self.words(covering: range, base: Self.mix(seed ^ 0xD1B5_4A32_D192_ED03))
        }
    }

    /// Returns whether given bytes are those of the content at an offset.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to compare.
    ///   - offset: Their expected offset in the content. Bytes past the end of the content do not match.
    /// - Returns: Whether all of them are the same.
    public func matches(_ bytes: some Collection<UInt8>, at offset: Int64 = 0) -> Bool {
        let (end, overflow) = offset.addingReportingOverflow(Int64(bytes.count))
        guard !overflow, offset >= 0, end <= length else { return false }
        // Arrays are compared by code that is optimised even if this code is not.
        return self.bytes(in: offset..<end) == Array(bytes)
    }

    /// Generates the whole words that cover a range and trims them to the range.
    ///
    /// - Parameters:
    ///   - range: Offsets in the content.
    ///   - base: The state of the generator before the first word.
    /// - Returns: The bytes of the range.
    private static func words(covering range: Range<Int64>, base: UInt64) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let first = range.lowerBound / wordSize
        let count = Int((range.upperBound - 1) / wordSize - first + 1)
        let size = count * Int(wordSize)
        // The elements of a new array are aligned for words. One raw loop generates gigabytes per second even without
        // optimization, which is how tests run. It stays within `memory`: it writes `count` words to `size` bytes.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { memory, initializedCount in
            guard let start = UnsafeMutableRawPointer(memory.baseAddress) else { return }
            let words = unsafe start.bindMemory(to: UInt64.self, capacity: count)
            var state = base &+ UInt64(first) &* gamma
            var index = 0
            while index < count {
                state = state &+ gamma
                var word = state
                word = (word ^ (word &>> 30)) &* 0xBF58_476D_1CE4_E5B9
                word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
                unsafe words[index] = (word ^ (word &>> 31)).littleEndian
                index &+= 1
            }
            _ = unsafe start.bindMemory(to: UInt8.self, capacity: size)
            initializedCount = size
        }
        if size == range.count { return bytes }
        let skipped = Int(range.lowerBound - first * wordSize)
        return Array(bytes[skipped..<skipped + range.count])
    }

    /// The step of the splitmix64 generator from one word to the next.
    private static let gamma: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The output function of splitmix64, which keeps the words of neighbouring seeds from being shifted copies.
    ///
    /// - Parameter value: A state of the generator.
    /// - Returns: The word of that state.
    private static func mix(_ value: UInt64) -> UInt64 {
        var word = value
        word = (word ^ (word &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word &>> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word &>> 31)
    }
}
