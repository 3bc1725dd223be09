import ResumeFiles

/// A file in place, compared with received bytes.
extension Destination {
    /// Returns the offset of the first byte that differs from received ones; nil if there is none.
    package func firstDifference(from bytes: HeldBytes, in range: Range<Int64>) throws -> Int64? {
        let file = try open()
        return try bytes.blob.flatMap { try file.firstDifference(from: $0, in: range) }
    }
}

extension OpenFile {
    /// Returns the offset of the first byte that differs from stored ones; nil if there is none.
    func firstDifference(from stored: any BodyStorage, in range: Range<Int64>) throws -> Int64? {
        for part in range.parts(of: 256 << 10) {
            let wanted = try stored.bytes(in: part)
            let found = try bytes(wanted.count, at: part.lowerBound)
            if found != wanted { return part.lowerBound + Int64(zip(found, wanted).prefix { $0 == $1 }.count) }
        }
        return nil
    }
}
