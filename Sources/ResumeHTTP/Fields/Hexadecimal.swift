/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Returns two lower-case digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        // Bytes, since appending characters takes a hundred times as long.
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses digits of either case.
    ///
    /// - Returns: nil if their number is odd, or if there are other characters.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(truncatingIfNeeded: digits[$0] * 16 + digits[$0 + 1])
        }
    }
}
