import ResumeHTTP
import TestSupport
import Testing

@testable import ResumeStore

/// Control files of other programs, and what the names of their files say.
@Suite(.timeLimit(.minutes(5)))
struct ControlFileTests {
    private static func word(_ number: Int64, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    /// The control file of aria2 for a file of ten and a half pieces.
    static func aria2(
        _ field: [UInt8] = [0b1110_0001, 0b1010_0000], total: Int64 = 10_752, piece: Int64 = 1024, hash: [UInt8] = []
    ) -> [UInt8] {
        var bytes: [UInt8] = [0, 1, 0, 0, 0, 0] + word(Int64(hash.count), 4) + hash
        bytes += word(piece, 4) + word(total, 8) + word(0, 8)
        bytes += word(Int64(field.count), 4) + field
        return bytes + word(1, 4) + word(4, 4) + word(1024, 4) + word(1, 4) + [0x80]
    }

    /// The state file of axel.
    static func axel(_ places: [(Int64, Int64)], width: Int = 2) -> [UInt8] {
        var bytes = Array(word(Int64(places.count), width).reversed()) + Array(word(77, 8).reversed())
        for (position, end) in places { bytes += word(position, 8).reversed() + word(end, 8).reversed() }
        return bytes
    }

    @Test("J5: aria2: the finished pieces, the last of which is shorter")
    func pieces() throws {
        let control = try #require(ForeignPartial.ControlFile(aria2: Self.aria2()))
        #expect(control.totalLength == 10_752)
        let expected: [Range<Int64>] = [0..<3072, 7168..<9216, 10_240..<10_752]
        #expect(control.finished == expected)
        #expect(
            ForeignPartial.ControlFile(aria2: Self.aria2(hash: Array(repeating: 7, count: 20)))?.finished
                == control.finished)
        // Bits behind the last piece mean nothing.
        #expect(ForeignPartial.ControlFile(aria2: Self.aria2([0, 0b0011_1111]))?.finished == [expected[2]])
        let malformed: [[UInt8]] = [
            Self.aria2([0]), Self.aria2([0, 0, 0]), Self.aria2(total: 0), Self.aria2(piece: 0), Self.aria2(total: .max),
            Self.aria2(total: -1), Array(Self.aria2().prefix(30)), [], [0, 1], [0, 0] + Self.aria2().dropFirst(2),
        ]
        for bytes in malformed {
            #expect(ForeignPartial.ControlFile(aria2: bytes) == nil)
        }
        // A row is needed for each range, so not all of the pieces of a hostile file are adopted.
        let many = [UInt8](repeating: 0xAA, count: 1 << 20)
        #expect(
            ForeignPartial.ControlFile(aria2: Self.aria2(many, total: 8 << 20, piece: 1))?.finished.count
                == ForeignPartial.Extents.most)
    }

    @Test("J5: axel: everything that no connection has yet to fetch", arguments: [2, 4])
    func connections(width: Int) throws {
        let places: [(Int64, Int64)] = [(100, 1000), (1500, 2000), (3000, 3000)]
        let state = try #require(ForeignPartial.ControlFile(axel: Self.axel(places, width: width)))
        let expected: [Range<Int64>] = [0..<100, 1001..<1500, 2001..<3000]
        #expect(state.finished == expected)
        #expect(ForeignPartial.ControlFile(axel: Self.axel([(0, 1000)], width: width))?.finished == [])
        let malformed: [[UInt8]] = [
            [], Self.axel([], width: width), Self.axel([(-1, 5)], width: width), Self.axel([(1, .max)]), [1, 0],
        ]
        for bytes in malformed {
            #expect(ForeignPartial.ControlFile(axel: bytes) == nil)
        }
        #expect(ForeignPartial.ControlFile(axel: Array(Self.axel([(1, 2), (3, 4)], width: width).dropLast())) == nil)
    }

    @Test(
        "J5: random control files never trap, and what they claim lies in the file", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let numbers: [Int64] = [0, 1, -1, .max, .min, 1 << 32, 4096, 1 << 62]
        for _ in 0..<20_000 {
            var bytes =
                Bool.random(using: &random)
                ? Self.aria2(
                    (0..<Int.random(in: 0...9, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) },
                    total: numbers.randomElement(using: &random) ?? 0,
                    piece: numbers.randomElement(using: &random) ?? 0)
                : Self.axel(
                    (0..<Int.random(in: 0...9, using: &random)).map { _ in
                        (numbers.randomElement(using: &random) ?? 0, numbers.randomElement(using: &random) ?? 0)
                    })
            for _ in 0..<Int.random(in: 0...4, using: &random) where !bytes.isEmpty {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = UInt8.random(in: 0...255, using: &random)
            }
            if Bool.random(using: &random) { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
            let control = ForeignPartial.ControlFile(aria2: bytes)
            if let control {
                #expect(control.finished.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= control.totalLength ?? 0 })
            }
            for ranges in [control?.finished, ForeignPartial.ControlFile(axel: bytes)?.finished].compactMap({ $0 }) {
                #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
                let trusted = ForeignPartial.Extents.trusted(ranges, upTo: 1 << 40, piecewise: true)
                #expect(trusted.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= 1 << 40 })
            }
        }
    }

    @Test("J5: programs are recognized by the names of their files and of the files beside them")
    func names() {
        let hash = String(repeating: "ab", count: 32)
        let cases: [(String, [String], ForeignPartial.Program, Bool)] = [
            ("/d/image.iso", [], .curlOrWget, false), ("image.iso", ["image.iso.aria2"], .aria2, false),
            ("/d/image.iso", ["/d/image.iso.st"], .axel, false), ("/d/Unconfirmed 12.crdownload", [], .chromium, false),
            ("/d/a.iso.part", [], .browserOrYtDlp, false), ("/hub/blobs/\(hash).incomplete", [], .huggingFace, true),
            ("/hub/download/xyz=.\(hash).incomplete", [], .huggingFace, true),
            ("/hub/blobs/\(hash).607ec65b.incomplete", [], .huggingFace, true),
            ("/hub/download/xyz=.\(hash).3c6af54f.incomplete", [], .huggingFace, true),
            ("/hub/blobs/\(hash.prefix(40)).8a214986.incomplete", [], .huggingFace, false),
            (".git/lfs/incomplete/\(hash)1913195855", [], .gitLFS, true),
            (".git/lfs/incomplete/\(hash)x1", [], .curlOrWget, false),
            ("/hub/blobs/0123456789.incomplete", [], .huggingFace, false),
            (".git/lfs/incomplete/\(hash).part", [], .gitLFS, true), (".git/lfs/incomplete/\(hash)", [], .gitLFS, true),
            ("/s/blobs/0123456789abcdef0123456789abcdef", [], .store, false), ("", [], .curlOrWget, false),
        ]
        for (path, beside, program, hasDigest) in cases {
            let name = ForeignPartial.Name(path) { beside.contains($0) }
            #expect(name.program == program && (name.digest != nil) == hasDigest && name.obstacle == nil, "\(path)")
        }
        #expect(ForeignPartial.Name("/d/v.mp4.part") { $0 == "/d/v.mp4.ytdl" }.obstacle != nil)
        #expect(ForeignPartial.Name("v.mp4.part") { $0 == "v.mp4.ytdl" }.obstacle != nil)
        #expect(ForeignPartial.Name("/d/v.mp4.part-Frag7") { _ in false }.obstacle != nil)
    }
}
