internal import Foundation
package import ResumeHTTP
internal import TestSupport

/// A version of a file on the server of a history.
package struct Version: Sendable {
    package let bytes: [UInt8]
    /// The entity tag with its quotes; nil for none.
    package var tag: String?
    /// The value of Last-Modified; nil for none.
    package var lastModified: String?
    /// The value of Content-Type.
    package var type = "application/zip"

    package var digest: HTTPDigest? { HTTPDigest(.sha256, of: bytes) }

    /// Whether these are its bytes, all of them.
    package func isWhole(_ other: [UInt8]) -> Bool { bytes.count == other.count && begins(with: other) }

    /// Whether it begins with these bytes.
    package func begins(with other: [UInt8]) -> Bool {
        guard other.count <= bytes.count else { return false }
        return bytes.withUnsafeBytes { own in
            other.withUnsafeBytes { other in
                guard let own = own.baseAddress, let first = other.baseAddress else { return true }
                return memcmp(own, first, other.count) == 0
            }
        }
    }
}

/// Bytes for versions, made once: tests are compiled without optimisation.
enum Pool {
    /// The length of a version at most.
    static let length = 1 << 20
    /// Pseudo-random bytes, of which any two differ at each position: any comparison of two versions finds it.
    private static let all: [[UInt8]] = {
        let first = sampleBytes(length, seed: 43)
        return (0..<12).map { number in first.map { $0 ^ UInt8(truncatingIfNeeded: number * 37) } }
    }()

    static let count = 12

    /// More bytes, of which any two beginnings that are some thousand apart differ.
    static let long: [UInt8] = {
        let block = sampleBytes(1 << 20, seed: 7)
        // Each block is another one, made by copies instead of loops.
        return (0..<102).reduce(into: []) { all, number in
            all += block[(number * 5003 % 65_536)...]
            all += block[..<(number * 5003 % 65_536)]
        }
    }()

    /// Returns the beginning of the bytes with a number.
    static func bytes(_ number: Int, _ count: Int) -> [UInt8] { Array(all[number % Self.count].prefix(count)) }

    /// Returns the bytes with a number, of which some are those with another one.
    static func bytes(_ number: Int, _ count: Int, with other: Int, in range: Range<Int>) -> [UInt8] {
        var bytes = bytes(number, count)
        let range = range.clamped(to: 0..<count)
        bytes.replaceSubrange(range, with: all[other % Self.count][range])
        return bytes
    }
}
