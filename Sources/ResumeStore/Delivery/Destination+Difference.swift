import ResumeFiles

/// A file in place, compared with received bytes.
extension Destination {
    /// Returns the offset of the first byte that differs from received ones; nil if there is none.
    package func firstDifference(from bytes: HeldBytes, in range: Range<Int64>) throws -> Int64? {
        let file = try StoreError.wrapping { try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW) }
        return try bytes.blob.flatMap { try file.firstDifference(from: $0, in: range) }
    }
}

extension OpenFile {
    /// Returns the offset of the first byte that differs from stored ones; nil if there is none.
    func firstDifference(from stored: any BodyStorage, in range: Range<Int64>) throws -> Int64? {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: 256 << 10) {
            let wanted = try stored.bytes(in: start..<min(start + (256 << 10), range.upperBound))
            let found = try bytes(wanted.count, at: start)
            if found != wanted { return start + Int64(zip(found, wanted).prefix { $0 == $1 }.count) }
        }
        return nil
    }
}
