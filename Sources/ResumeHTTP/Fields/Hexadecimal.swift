/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Returns two lower-case digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        let digits: StaticString = "0123456789abcdef"
        return unsafe String(unsafeUninitializedCapacity: bytes.count * 2) { text in
            for (index, byte) in bytes.enumerated() {
                unsafe text[index * 2] = digits.utf8Start[Int(byte >> 4)]
                unsafe text[index * 2 + 1] = digits.utf8Start[Int(byte & 15)]
            }
            return bytes.count * 2
        }
    }

    /// Parses digits of either case.
    ///
    /// - Returns: nil if their number is odd, or if there are other characters.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(digit)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns the value of a digit of either case.
    static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init(truncatingIfNeeded:))
    }
}
