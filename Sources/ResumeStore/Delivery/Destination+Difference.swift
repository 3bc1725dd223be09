internal import ResumeFiles

/// A file in place, compared with received bytes.
extension Destination {
    /// Returns the offset of the first byte that differs from received ones; nil if there is none.
    package func firstDifference(from bytes: HeldBytes, in range: Range<Int64>) throws -> Int64? {
        let file = try StoreError.wrapping { try OpenFile(path, flags: O_RDONLY | O_NOFOLLOW) }
        var (offset, found) = (range.lowerBound, Int64?.none)
        try unsafe bytes.forEachBuffer(in: range) { received in
            guard found == nil else { return }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: received.count, alignment: 16)
            defer { unsafe buffer.deallocate() }
            let count = try unsafe file.read(into: buffer, at: offset)
            let same = unsafe zip(received, buffer.prefix(count)).prefix { $0 == $1 }.count
            if same < received.count { found = offset + Int64(same) }
            offset += Int64(received.count)
        }
        return found
    }
}
