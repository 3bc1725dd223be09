internal import CResumeChecksum

/// A part of a blob and its checksum: what one checkpoint recorded, or several one after the other.
struct Block: Sendable, Hashable, Extent {
    /// Where it begins in the file.
    var offset: Int64
    /// How many bytes it has.
    var length: Int64
    /// Their CRC-32C.
    var checksum: UInt32
}

extension [Block] {
    /// Those that lie whole in one of the parts that are held.
    func within(_ chunks: [Entry.Chunk]) -> [Block] {
        filter { block in chunks.contains { $0.range.contains(block.range) } }
    }
}

/// CRC-32C, which a processor computes many times faster than a network brings bytes.
///
/// It finds what disks, memory and people change; it proves nothing against those who forge.
enum Checksum {
    /// Continues a checksum with more bytes; 0 begins one.
    static func crc32c(_ bytes: RawSpan, continuing checksum: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe resume_crc32c(checksum, $0.baseAddress, $0.count) }
    }
}

extension OpenFile {
    /// The blocks whose bytes are not what was recorded, or are not there.
    ///
    /// - Parameters:
    ///   - blocks: What was recorded.
    ///   - isCancelled: Asked between two blocks.
    /// - Returns: Those that are not there as they should be.
    /// - Throws: ``SystemError``
    func damaged(among blocks: [Block], isCancelled: () -> Bool = { false }) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var damaged: [Block] = []
        for block in blocks where !isCancelled() {
            if try unsafe checksum(of: block.range, buffer) != block.checksum { damaged.append(block) }
        }
        return damaged
    }

    /// The checksum of a range; nil where the file ends before.
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
