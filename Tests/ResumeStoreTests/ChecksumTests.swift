import CResumeChecksum
import ResumeStore
import TestSupport
import Testing

/// CRC-32C, in each implementation that this processor supports.
@Suite(.timeLimit(.minutes(5)))
struct ChecksumTests {
    private static let ways = (0...resume_crc32c_best().rawValue).map { resume_crc32c_way(rawValue: $0) }

    private static func checksum(_ bytes: ArraySlice<UInt8>, from start: UInt32 = 0, by way: resume_crc32c_way)
        -> UInt32
    {
        bytes.withUnsafeBytes { resume_crc32c_by(way, start, $0.baseAddress, $0.count) }
    }

    @Test("All implementations match the vectors of RFC 3720, B.4")
    func vectors() {
        let vectors: [([UInt8], UInt32)] = [
            (Array("123456789".utf8), 0xE306_9283), ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
            ([UInt8](repeating: 0xff, count: 32), 0x62A8_AB43), (Array(0..<32), 0x46DD_794E),
            (Array((0..<32).reversed()), 0x113F_DB5C), ([], 0),
        ]
        for way in Self.ways {
            for (bytes, expected) in vectors { #expect(Self.checksum(bytes[...], by: way) == expected) }
        }
    }

    @Test("All implementations agree for all lengths and offsets, and a checksum can be continued")
    func agreement() {
        let bytes = sampleBytes(4096)
        for length in Array(0...1100) + [2047, 2048, 2049, 4000] {
            let part = bytes[(length % 61)..<(length % 61 + length)]
            let expected = Self.checksum(part, by: resume_crc32c_table)
            let middle = part.startIndex + length / 3
            for way in Self.ways {
                #expect(Self.checksum(part, by: way) == expected)
                let first = Self.checksum(part[..<middle], by: way)
                #expect(Self.checksum(part[middle...], from: first, by: way) == expected)
            }
        }
    }
}
