/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Returns two lower-case digits for each byte.
    package static func text(_ bytes: [UInt8]) -> String {
        String(decoding: digits(bytes), as: UTF8.self)
    }

    /// Appends two lower-case digits for each byte.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) { text += digits(bytes) }

    private static func digits(_ bytes: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 2 * bytes.count) { digits, count in
            for byte in bytes {
                unsafe digits[count] = character(byte >> 4)
                unsafe digits[count + 1] = character(byte & 15)
                count += 2
            }
        }
    }

    private static func character(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") - 10 + value
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
