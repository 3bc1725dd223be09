import ResumeHTTP
@testable import ResumeStore
import Testing

/// The bytes on their way to a reader, of which nothing is stored.
@Suite(.timeLimit(.minutes(5)))
struct PassedBytesTests {
    private static let mebibyte = 1 << 20

    private static func bytes(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) ^ seed }
    }

    private static func write(_ bytes: [UInt8], to passed: PassedBytes, at offset: Int) throws {
        try unsafe passed.write(bytes.span.bytes, at: Int64(offset))
    }

    /// Reads until a number of bytes have been read.
    private static func read(_ count: Int, from passed: PassedBytes) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try #require(try await passed.next()) }
        return bytes
    }

    /// Returns bytes of which the reader has got all but the last.
    private static func begun(_ bytes: [UInt8]) async throws -> PassedBytes {
        let passed = PassedBytes(nil)
        passed.restart(announced: nil)
        try write(bytes, to: passed, at: 0)
        #expect(try await read(bytes.count - 1, from: passed) == bytes.dropLast())
        return passed
    }

    @Test("There is room until a mebibyte waits, and again when they have been read")
    func room() async throws {
        let passed = PassedBytes(nil)
        passed.restart(announced: nil)
        let part = Self.bytes(Self.mebibyte / 2)
        try Self.write(part, to: passed, at: 0)
        #expect(passed.hasRoom)
        try Self.write(part, to: passed, at: part.count)
        #expect(!passed.hasRoom)
        async let waiting: Void = passed.waitForRoom()
        #expect(try await Self.read(Self.mebibyte - 1, from: passed) == part + part.dropLast())
        try await waiting
        #expect(passed.hasRoom)
    }

    @Test("A cancelled download does not wait for the reader")
    func cancelled() async throws {
        let passed = PassedBytes(nil)
        passed.restart(announced: nil)
        try Self.write(Self.bytes(3 * Self.mebibyte), to: passed, at: 0)
        let task = Task { try await passed.waitForRoom() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("Of what has been read, the last 64 KiB remain to be compared, and older bytes are no longer in memory")
    func overlap() async throws {
        let bytes = Self.bytes(8 * Self.mebibyte)
        let passed = try await Self.begun(Array(bytes[..<Self.mebibyte]))
        for start in stride(from: Self.mebibyte, to: bytes.count, by: Self.mebibyte) {
            try Self.write(Array(bytes[start..<start + Self.mebibyte]), to: passed, at: start)
            _ = try await Self.read(Self.mebibyte, from: passed)
        }
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let end = bytes.count - buffer.count
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe passed.read(into: $0, at: Int64(end)) }
        #expect(count == buffer.count && buffer == Array(bytes[end...]))
        for offset in [0, Int64(4 * Self.mebibyte), -1, .max] {
            #expect(unsafe buffer.withUnsafeMutableBytes { unsafe passed.read(into: $0, at: offset) } == 0)
        }
    }

    @Test("After a new start, nothing is passed on before all bytes that were read have come again")
    func restart() async throws {
        let bytes = Self.bytes(100_000)
        let passed = try await Self.begun(Array(bytes[..<50_000]))
        passed.restart(announced: nil)
        try Self.write(Array(bytes[..<49_998]), to: passed, at: 0)
        try Self.write(Array(bytes[49_998...]), to: passed, at: 49_998)
        #expect(try passed.finish(at: 100_000, expecting: nil) == HTTPDigest(.sha256, of: bytes))
        #expect(try await Self.read(50_001, from: passed) == Array(bytes[49_999...]))
        #expect(try await passed.next() == nil)
    }

    @Test("If one of the first 64 KiB is another one, nothing more is received")
    func early() async throws {
        let bytes = Self.bytes(Self.mebibyte)
        let passed = try await Self.begun(bytes)
        passed.restart(announced: nil)
        var other = Array(bytes[..<60_000])
        try Self.write(other, to: passed, at: 0)
        other[5_535] ^= 1
        #expect(throws: StoreError.self) { try Self.write(other, to: passed, at: 60_000) }
        #expect(passed.hasChanged)
        let later = try await Self.begun(bytes)
        later.restart(announced: nil)
        try Self.write(Array(bytes[..<65_536]) + [UInt8](repeating: 0, count: 60_000), to: later, at: 0)
        #expect(!later.hasChanged)
    }

    @Test("Other bytes, fewer bytes, and bytes that are received again after they were read are a change")
    func changed() async throws {
        let other = try await Self.begun(Self.bytes(1000))
        other.restart(announced: nil)
        #expect(throws: StoreError.self) { try Self.write(Self.bytes(1000, seed: 1), to: other, at: 0) }
        let fewer = try await Self.begun(Self.bytes(1000))
        fewer.restart(announced: nil)
        try Self.write(Self.bytes(998), to: fewer, at: 0)
        #expect(throws: StoreError.self) { try fewer.finish(at: 998, expecting: nil) }
        let again = try await Self.begun(Self.bytes(1000))
        #expect(throws: StoreError.self) { try Self.write([1], to: again, at: 998) }
        #expect(other.hasChanged && fewer.hasChanged && again.hasChanged)
        // The last byte has not been read.
        let last = try await Self.begun(Self.bytes(1000))
        try Self.write([7, 8], to: last, at: 999)
        #expect(!last.hasChanged)
        #expect(try await Self.read(1, from: last) == [7])
    }

    @Test("Bytes that were found to be wrong are not passed on, and do not count")
    func wrong() async throws {
        let bytes = Self.bytes(2000)
        let passed = try await Self.begun(Array(bytes[..<1000]))
        try Self.write([UInt8](repeating: 7, count: 500), to: passed, at: 1000)
        passed.discardBytes()
        passed.restart(announced: nil)
        try Self.write(Array(bytes[..<1000]), to: passed, at: 0)
        try Self.write(Array(bytes[1000...]), to: passed, at: 1000)
        #expect(try passed.finish(at: 1500, expecting: nil) == HTTPDigest(.sha256, of: bytes[..<1500]))
        #expect(try await Self.read(501, from: passed) == Array(bytes[999..<1500]))
        #expect(try await passed.next() == nil)
        let short = try await Self.begun(bytes)
        #expect(throws: StoreError.self) { try short.finish(at: 1998, expecting: nil) }
        let long = try await Self.begun(bytes)
        #expect(throws: StoreError.self) { try long.finish(at: 2001, expecting: nil) }
        #expect(short.hasChanged && long.hasChanged)
    }

    @Test("With another digest, the reader gets an error instead of the last 64 KiB")
    func digest() async throws {
        let wrong = try #require(HTTPDigest(.sha512, of: [1]))
        let bytes = Self.bytes(100_000)
        let passed = PassedBytes(wrong)
        passed.restart(announced: nil)
        try Self.write(bytes, to: passed, at: 0)
        #expect(try passed.finish(at: 100_000, expecting: wrong) == HTTPDigest(.sha512, of: bytes))
        #expect(try await passed.next() == Array(bytes[..<34_464]))
        passed.fail(DownloadError(.digestMismatch, .endedEarly))
        await #expect(throws: DownloadError.self) { try await passed.next() }
    }
}
