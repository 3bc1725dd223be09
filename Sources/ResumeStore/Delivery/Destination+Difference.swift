/// A file in place, compared with received bytes.
extension Destination {
    /// Returns the offset of the first byte that differs from received ones; nil if there is none.
    package func firstDifference(from bytes: HeldBytes, in range: Range<Int64>) throws -> Int64? {
        try bytes.firstDifference(from: open(), in: range)
    }
}
