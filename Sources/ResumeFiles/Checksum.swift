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
        var checksum: UInt32 = 0
        let size: Int64 = 256 << 10
        for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(size)) {
            let wanted = Int(min(size, range.upperBound - start))
            let part = try bytes(wanted, at: start)
            guard part.count == wanted else { return nil }
            checksum = Checksum.crc32c(unsafe part.span.bytes, continuing: checksum)
        }
        return checksum
    }
}
