/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Returns two lower-case digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
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
