/// The ranges of a request, as far as the server supports them.
enum RangeRequest: Equatable {
    /// From one offset to another, inclusive, or to the end.
    case from(Int64, last: Int64?)

    /// The given number of last bytes.
    case suffix(Int64)

    /// Anything that a server may ignore: no range, several ranges, another unit, an invalid form.
    case none

    /// The part of a representation to send.
    enum Selection: Equatable {
        case whole
        case part(Range<Int64>)
        case unsatisfiable
    }

    /// Reads the `Range` fields of a request.
    ///
    /// - Parameter fields: The values of all `Range` fields.
    init(fields: [String]) {
        self = .none
        // Two `Range` fields would be a list of two ranges at best.
        guard fields.count == 1, let value = fields.first else { return }
        let halves = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        // The names of range units are not case-sensitive (RFC 9110, 14.1).
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return }
        let ends = halves[1].trimmingBlanks().split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2 else { return }
        switch (Self.position(ends[0]), Self.position(ends[1])) {
        case (let first?, let last?) where first <= last: self = .from(first, last: last)
        case (let first?, nil) where ends[1].isEmpty: self = .from(first, last: nil)
        case (nil, let count?) where ends[0].isEmpty: self = .suffix(count)
        default: break
        }
    }

    /// Applies the ranges to a representation.
    ///
    /// - Parameter length: The length of the representation.
    /// - Returns: The part to send.
    func selection(length: Int64) -> Selection {
        switch self {
        case .none:
            return .whole
        case .from(let first, let last):
            guard first < length else { return .unsatisfiable }
            return .part(first..<min(last ?? length - 1, length - 1) + 1)
        case .suffix(let count):
            guard count > 0, length > 0 else { return .unsatisfiable }
            return .part(max(0, length - count)..<length)
        }
    }

    /// Reads an offset.
    ///
    /// - Parameter digits: The text of the offset.
    /// - Returns: The offset, the greatest one if the number exceeds 64 bits; `nil` if the text does not consist of
    ///   digits.
    private static func position(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            return nil
        }
        return Int64(digits) ?? .max
    }
}
