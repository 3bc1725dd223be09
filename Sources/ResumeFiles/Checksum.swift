import CResumeChecksum

extension RawSpan {
    /// Computes the CRC-32C, which a processor does many times faster than a network delivers bytes.
    ///
    /// It detects accidental changes by disks, memory and people. It does not protect against deliberate forgery.
    ///
    /// - Parameter checksum: That of the bytes before these, which is continued.
    /// - Returns: The checksum.
    package func crc32c(continuing checksum: UInt32 = 0) -> UInt32 {
        unsafe withUnsafeBytes { unsafe resume_crc32c(checksum, $0.baseAddress, $0.count) }
    }
}

extension OpenFile {
    /// Computes the checksum of a range; nil if the file is shorter.
    package func checksum(of range: Range<Int64>) throws(SystemError) -> UInt32? {
        var checksum: UInt32 = 0
        for part in range.parts(of: 256 << 10) {
            let bytes = try bytes(part.count, at: part.lowerBound)
            guard bytes.count == part.count else { return nil }
            checksum = unsafe bytes.span.bytes.crc32c(continuing: checksum)
        }
        return checksum
    }
}
