/// The ranges of a representation that a caller requests, delivered one after the other.
///
/// Source: [RFC 9110, 14.1.2](https://www.rfc-editor.org/rfc/rfc9110.html#section-14.1.2).
public struct RangeSelection: Sendable, Hashable {
    /// One range of bytes.
    package enum Element: Sendable, Hashable {
        /// `a-b`: both included.
        case bytes(first: Int64, last: Int64)
        /// `a-`: to the end.
        case from(Int64)
        /// `-n`: the last n bytes.
        case suffix(Int64)
    }

    /// The location of a range: from `first` to `end` (excluded) in the representation, and from `position` on in the
    /// file.
    package struct Part: Equatable {
        package var first: Int64
        package var end: Int64
        var position: Int64

        var count: Int64 { end - first }
    }

    /// The maximum number of ranges of one download.
    package static let limit = 1000
    /// The largest accepted position, so that sums of positions cannot overflow.
    private static let largest: Int64 = 1 << 52

    /// The ranges, in the order in which they are delivered; never empty.
    package let elements: [Element]

    /// Parses `bytes=0-99,200-` or the same without the unit.
    ///
    /// - Throws: ``InvalidInput`` for another unit, malformed text, an empty range, or more than 1,000 of them.
    public init(parsing text: String) throws(InvalidInput) {
        guard let selection = RangeSelection(text) else {
            throw InvalidInput(sentence("bad-ranges", Self.limit))
        }
        self = selection
    }

    /// Parses ranges.
    ///
    /// - Returns: nil for another unit, malformed text, an empty range, or more than 1,000 of them.
    package init?(_ text: String) {
        let parts = text.parts(at: "=")
        guard parts.count == 1 || (parts.count == 2 && parts[0].lowercased() == "bytes"), let list = parts.last else {
            return nil
        }
        let items = list.parts(at: ",")
        guard items.count <= Self.limit else { return nil }
        elements = items.compactMap { Self.element($0.withoutSpaces) }
        guard elements.count == items.count else { return nil }
    }

    private static func element(_ text: String) -> Element? {
        let sides = text.parts(at: "-")
        guard sides.count == 2 else { return nil }
        let numbers = sides.map { Decimal64.parse($0).flatMap { $0 <= largest ? $0 : nil } }
        switch (numbers[0], numbers[1]) {
        case (let first?, let last?): return first <= last ? .bytes(first: first, last: last) : nil
        case (let first?, nil): return sides[1].isEmpty ? .from(first) : nil
        case (nil, let count?): return sides[0].isEmpty && count > 0 ? .suffix(count) : nil
        case (nil, nil): return nil
        }
    }

    /// Returns the locations of the ranges.
    ///
    /// - Parameter completeLength: The length of the representation; nil if it is unknown, which is sufficient for
    ///   ranges that have an end.
    /// - Returns: nil if they depend on the unknown length, or if a range lies beyond the end.
    package func parts(completeLength: Int64?) -> [Part]? {
        if let completeLength, completeLength > Self.largest { return nil }
        var parts: [Part] = []
        var position: Int64 = 0
        for element in elements {
            guard let (first, end) = element.bounds(completeLength: completeLength), first < end else {
                return nil
            }
            parts.append(Part(first: first, end: end, position: position))
            position += end - first
        }
        return parts
    }

    /// Returns the total length of the ranges; nil if it is not known yet, or if a range lies beyond the end.
    package func length(completeLength: Int64?) -> Int64? {
        parts(completeLength: completeLength).flatMap { $0.last.map { $0.position + $0.count } }
    }
}

extension RangeSelection.Element {
    /// Returns the first byte and the end, excluded.
    fileprivate func bounds(completeLength: Int64?) -> (Int64, Int64)? {
        switch self {
        case .bytes(let first, let last): (first, min(last + 1, completeLength ?? .max))
        case .from(let first): completeLength.map { (first, $0) }
        case .suffix(let count): completeLength.map { (max($0 - count, 0), $0) }
        }
    }

    /// The range as in a `Range` field.
    var text: String {
        switch self {
        case .bytes(let first, let last): "\(first)-\(last)"
        case .from(let first): "\(first)-"
        case .suffix(let count): "-\(count)"
        }
    }
}

extension RangeSelection: CustomStringConvertible {
    /// The value of a `Range` field, which ``init(parsing:)`` accepts.
    public var description: String { "bytes=" + elements.map(\.text).joined(separator: ",") }
}
