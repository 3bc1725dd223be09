extension BidirectionalCollection<UInt8> {
    /// The bytes without the spaces and tabs around them.
    @inlinable package var trimmed: SubSequence {
        var bytes = self[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return bytes
    }
}

extension Collection where Element: Equatable {
    /// Splits at each separator, or at the first `most` of them, and keeps empty parts.
    @inlinable package func parts(at separator: Element, most: Int = .max) -> [SubSequence] {
        split(separator: separator, maxSplits: most, omittingEmptySubsequences: false)
    }
}

extension UInt8 {
    package static var slash: UInt8 { UInt8(ascii: "/") }
    package static var colon: UInt8 { UInt8(ascii: ":") }
    static var semicolon: UInt8 { UInt8(ascii: ";") }
    package static var dot: UInt8 { UInt8(ascii: ".") }
    package static var percent: UInt8 { UInt8(ascii: "%") }
    package static var space: UInt8 { 0x20 }

    /// Whether it is a decimal digit in ASCII.
    @inlinable package var isDigit: Bool { (0x30...0x39).contains(self) }
}

extension UInt64 {
    /// The bytes, least significant first.
    var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}

extension [UInt8] {
    /// Returns random bytes, eight for each system call.
    package static func random(count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            bytes += UInt64.random(in: .min ... .max).bytes
        }
        return Array(bytes.prefix(count))
    }
}
