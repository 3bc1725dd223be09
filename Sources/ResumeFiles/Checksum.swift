internal import CResumeChecksum

/// CRC-32C, which a processor computes many times faster than a network delivers bytes.
///
/// It detects accidental changes by disks, memory and people. It does not protect against deliberate forgery.
package enum Checksum {
    /// Continues a checksum with more bytes; start with 0.
    package static func crc32c(_ bytes: RawSpan, continuing checksum: UInt32 = 0) -> UInt32 {
        unsafe bytes.withUnsafeBytes { unsafe resume_crc32c(checksum, $0.baseAddress, $0.count) }
    }
}

extension OpenFile {
    /// Computes the checksum of a range; nil if the file is shorter.
    package func checksum(of range: Range<Int64>) throws(SystemError) -> UInt32? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(256 << 10, range.upperBound - range.lowerBound)), alignment: 64)
        defer { unsafe buffer.deallocate() }
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
