internal import CResumeChecksum

/// A part of a blob and its checksum, recorded by one or several consecutive checkpoints.
struct Block: Sendable, Hashable, Extent {
    /// The offset in the file.
    var offset: Int64
    /// The length in bytes.
    var length: Int64
    /// The CRC-32C of the bytes.
    var checksum: UInt32
}

extension [Block] {
    /// Returns the blocks that lie entirely within one of the chunks.
    func within(_ chunks: [Entry.Chunk]) -> [Block] {
        filter { block in chunks.contains { $0.range.contains(block.range) } }
    }
}

/// CRC-32C, which processors compute much faster than a network transfers bytes.
///
/// It detects accidental changes on disks and in memory; it does not protect against forgery.
enum Checksum {
    /// Adds bytes to a checksum, which is 0 at the beginning.
    static func crc32c(_ bytes: RawSpan, continuing checksum: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe resume_crc32c(checksum, $0.baseAddress, $0.count) }
    }
}

extension OpenFile {
    /// Finds blocks whose bytes are missing or do not match the recorded checksums.
    ///
    /// - Parameters:
    ///   - blocks: The recorded blocks.
    ///   - isCancelled: Called before each block; true ends the search.
    /// - Returns: The damaged blocks.
    /// - Throws: ``SystemError``.
    func damaged(among blocks: [Block], isCancelled: () -> Bool = { false }) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var damaged: [Block] = []
        for block in blocks where !isCancelled() {
            if try unsafe checksum(of: block.range, buffer) != block.checksum { damaged.append(block) }
        }
        return damaged
    }

    /// Computes the checksum of a range; nil if the file ends before its end.
    private func checksum(
        of range: Range<Int64>, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> UInt32? {
        var checksum: UInt32 = 0
        var offset = range.lowerBound
        while offset < range.upperBound {
            let wanted = Int(min(Int64(buffer.count), range.upperBound - offset))
            let count = try unsafe read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: offset)
            guard count == wanted else { return nil }
            checksum = Checksum.crc32c(
                unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: buffer[..<count])), continuing: checksum)
            offset += Int64(count)
        }
        return checksum
    }
}
