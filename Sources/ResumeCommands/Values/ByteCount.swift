import ResumeHTTP

/// A number of bytes: `500k`, `10MB`, `1.5GiB`, `0`.
struct ByteCount: Equatable, TypedValue {
    var bytes: Int64

    /// Parses a size as people type it, and as ``text(_:)`` prints it.
    init?(_ text: String) {
        guard let number = DecimalNumber(text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }) else {
            return nil
        }
        var unit = text.dropFirst(number.text.count)
        // Sizes are printed with a space before the unit.
        if unit.first == " ", unit.count > 1 { unit = unit.dropFirst() }
        guard let factor = unit.isEmpty ? 1 : Self.factors.factor(of: unit), let bytes = number.multiplied(by: factor)
        else { return nil }
        self.bytes = bytes
    }

    static let accepted = sentence("use-size")

    private static let factors: [(Int64, String)] = [
        (1, "B"),
        (1 << 10, "k K KiB"), (1000, "kB KB"),
        (1 << 20, "m M MiB"), (1_000_000, "MB"),
        (1 << 30, "g G GiB"), (1_000_000_000, "GB"),
        (1 << 40, "t T TiB"), (1_000_000_000_000, "TB"),
    ]

    /// Returns the size of a part, and that of the whole if it is known.
    static func text(_ bytes: Int64, of total: Int64?) -> String {
        text(bytes) + (total.map { " of \(text($0))" } ?? "")
    }

    /// Returns a human-readable rate.
    static func rate(_ bytes: Int64) -> String { "\(text(bytes))/s" }

    /// Returns a human-readable size in binary units.
    static func text(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes)
        var unit = 0
        // Sizes that would be shown as 1024.0 use the next unit.
        while value >= 1023.95, unit < 4 {
            value /= 1024
            unit += 1
        }
        // The largest number would be rounded up to a size that is too large to be accepted again.
        let tenths = min(Int64((value * 10).rounded()), 83_886_079)
        return "\(tenths / 10).\(tenths % 10) \(["B", "KiB", "MiB", "GiB", "TiB"][unit])"
    }

    /// A number without a sign, with or without decimals.
    struct DecimalNumber {
        /// The number as it was typed.
        let text: Substring
        private let digits: Int128
        /// The power of ten that the digits are to be divided by.
        private let divisor: Int128

        /// Parses ASCII digits, with at most 18 decimals after a point.
        init?(_ text: Substring) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false)
            let decimals = parts.dropFirst().first?.count ?? 0
            guard parts.count <= 2, decimals <= 18, parts.allSatisfy(Self.areDigits),
                let digits = Int128(parts.joined())
            else { return nil }
            self.text = text
            self.digits = digits
            divisor = (0..<decimals).reduce(1) { power, _ in power * 10 }
        }

        var hasDecimals: Bool { divisor > 1 }

        /// Returns the product, rounded down; nil if it is too large, or if the number has decimals and the factor is 1.
        func multiplied(by factor: Int64) -> Int64? {
            guard factor > 1 || !hasDecimals else { return nil }
            let (product, overflow) = digits.multipliedReportingOverflow(by: Int128(factor))
            return overflow ? nil : Int64(exactly: product / divisor)
        }

        private static func areDigits(_ text: Substring) -> Bool {
            !text.isEmpty && text.utf8.allSatisfy(\.isDigit)
        }
    }
}

extension [(Int64, String)] {
    /// Returns the factor of a unit, from a table of factors and the units, separated by spaces.
    func factor(of unit: Substring) -> Int64? { first { $0.1.split(separator: " ").contains(unit) }?.0 }
}
