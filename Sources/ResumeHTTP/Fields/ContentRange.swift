package import HTTPTypes

/// A parsed `Content-Range` field.
///
/// Source: [RFC 9110, 14.4](https://www.rfc-editor.org/rfc/rfc9110.html#section-14.4).
package enum ContentRange: Sendable, Hashable {
    /// The bytes `first` to `last`, both included, of a representation of `completeLength` bytes (nil: `*`).
    case bytes(first: Int64, last: Int64, completeLength: Int64?)
    /// `bytes */N`: the requested range lies outside a representation of N bytes.
    case unsatisfied(completeLength: Int64)

    /// Parses a field value.
    ///
    /// - Returns: nil for another unit, malformed text, numbers that need more than 63 bits, a last byte before the
    ///   first, or a complete length that does not include the last byte. Such a body must not be combined with stored
    ///   bytes.
    package init?(_ value: String) {
        let parts = value.parts(at: " ", most: 1)
        guard parts.count == 2, parts[0].lowercased() == "bytes" else { return nil }
        let halves = parts[1].parts(at: "/")
        guard halves.count == 2 else { return nil }
        let completeLength = Decimal64.parse(halves[1])
        if halves[0] == "*" {
            guard let completeLength else { return nil }
            self = .unsatisfied(completeLength: completeLength)
            return
        }
        guard completeLength != nil || halves[1] == "*" else { return nil }
        let positions = halves[0].parts(at: "-")
        guard positions.count == 2, let first = Decimal64.parse(positions[0]), let last = Decimal64.parse(positions[1]),
            first <= last, last < Int64.max, completeLength.map({ last < $0 }) ?? true
        else { return nil }
        self = .bytes(first: first, last: last, completeLength: completeLength)
    }

    /// Reads the field of a message.
    ///
    /// - Returns: nil if it is absent, occurs twice with different values, or is malformed.
    package init?(in fields: HTTPFields) {
        guard let text = fields.text(.contentRange) else { return nil }
        self.init(text)
    }
}

/// Parses numbers as HTTP defines them: digits only, no sign, no white space, at most 63 bits.
///
/// A number of more bits is the `excess`, which is nil by default.
enum Decimal64 {
    static func parse(_ text: some StringProtocol, excess: Int64? = nil) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else { return nil }
        return Int64(text) ?? excess
    }
}
