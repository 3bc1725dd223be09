/// A number of bytes: `500k`, `10MB`, `1.5GiB`, `0`.
struct ByteCount: Equatable, TypedValue {
    var bytes: Int64

    /// Parses a size as people type it, and as ``text(_:)`` prints it.
    init?(_ text: String) {
        guard let number = DecimalNumber(text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }) else { return nil }
        var unit = text.dropFirst(number.text.count)
        // Sizes are printed with a space before the unit.
        if unit.first == " ", unit.count > 1 { unit = unit.dropFirst() }
        guard let factor = Self.factors[String(unit)], let bytes = number.multiplied(by: factor) else { return nil }
        self.bytes = bytes
    }

    static let accepted = "use a size such as 0, 500k, 10M, 10MB or 1.5GiB; k, M, G and T mean KiB, MiB, GiB and TiB"

    private static let factors: [String: Int64] = [
        "": 1, "B": 1, "k": 1 << 10, "K": 1 << 10, "KiB": 1 << 10, "kB": 1000, "KB": 1000,
        "m": 1 << 20, "M": 1 << 20, "MiB": 1 << 20, "MB": 1_000_000,
        "g": 1 << 30, "G": 1 << 30, "GiB": 1 << 30, "GB": 1_000_000_000,
        "t": 1 << 40, "T": 1 << 40, "TiB": 1 << 40, "TB": 1_000_000_000_000,
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
        guard parts.count <= 2, decimals <= 18, parts.allSatisfy(Self.areDigits), let digits = Int128(parts.joined())
        else { return nil }
        self.text = text
        self.digits = digits
        divisor = (0..<decimals).reduce(1) { power, _ in power * 10 }
    }

    /// Whether it was typed with decimals.
    var hasDecimals: Bool { divisor > 1 }

    /// Returns the product, rounded down; nil if it is too large, or if the number has decimals and the factor is 1.
    func multiplied(by factor: Int64) -> Int64? {
        guard factor > 1 || !hasDecimals else { return nil }
        let (product, overflow) = digits.multipliedReportingOverflow(by: Int128(factor))
        return overflow ? nil : Int64(exactly: product / divisor)
    }

    private static func areDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
