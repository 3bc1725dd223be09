#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif
internal import CResumeChecksum

/// A part of a blob and its checksum: what one checkpoint recorded, or several one after the other.
package struct Block: Sendable, Hashable, Extent {
    /// Where it begins in the file.
    package var offset: Int64
    /// How many bytes it has.
    package var length: Int64
    /// Their CRC-32C.
    package var checksum: UInt32
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

    /// The checksums of a range, in blocks of at most 2 MiB.
    ///
    /// - Throws: ``SystemError``, also if the file ends before.
    func blocks(in range: Range<Int64>) throws(SystemError) -> [Block] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var blocks: [Block] = []
        var start = range.lowerBound
        while start < range.upperBound {
            let end = min(start.addingSaturating(2 << 20), range.upperBound)
            guard let checksum = try unsafe checksum(of: start..<end, buffer) else {
                throw SystemError(number: EIO, call: "read", path: path)
            }
            blocks.append(Block(offset: start, length: end - start, checksum: checksum))
            start = end
        }
        return blocks
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
