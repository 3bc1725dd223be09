import Foundation
import HTTPTypes
import ResumeFiles
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
import TestSupport
import Testing

@testable import ResumeStore

/// Partial files of other programs, copied into a store.
@Suite(.timeLimit(.minutes(10)))
struct AdoptionTests {
    private static let tail = ForeignPartial.untrustedTail
    private static let url = TransferTests.url

    private static func withStore(_ body: (DownloadStore, TemporaryFolder) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            try await body(store, folder)
            let findings = try await store.verify().filter { $0.kind != .orphan }
            #expect(findings.isEmpty)
        }
    }

    @Test("J5: the beginning of a file is adopted without its last 64 KiB, and is not trusted yet")
    func prefix() async throws {
        try await Self.withStore { store, folder in
            let bytes = sampleBytes(3_000_000)
            try Files.write(bytes, to: folder["a.iso"])
            let foreign = try ForeignPartial(examining: folder["a.iso"])
            #expect(foreign.program == .curlOrWget && foreign.heldBytes == 3_000_000 - Self.tail)
            let transfer = try await store.begin()
            #expect(try await !transfer.adopt(foreign))
            let held = await transfer.partial
            #expect(held.isUnproved && !held.isComplete && held.length == 3_000_000 - Self.tail)
            #expect(await transfer.plan() == .whole(reason: .notProved), "for clients that compare no samples")
            try await transfer.close()
            #expect(try Files.bytes(folder["a.iso"]) == bytes)

            let entry = try #require(try await store.entries().first)
            #expect(entry.agreedSamples == 0 && entry.receivedBytes == held.length && entry.durableBytes == held.length)
            let again = try await store.begin()
            #expect(await again.partial == held)
            #expect(try await again.sample(1_000_000..<1_001_000) == Array(bytes[1_000_000..<1_001_000]))
            #expect(try await again.confirmHeld())
            let error = await #expect(throws: StoreError.self) { _ = try await again.adopt(foreign) }
            #expect(error?.code == .holdsMore)

            try await again.prove(
                as: Representation(fields: headers("\"a\"", 5_000_000)), agreedSamples: 140, comparesDigest: true)
            guard case .range(let range) = await again.plan() else {
                Issue.record("not continued")
                return
            }
            #expect(range.offset == held.length && range.validator != nil)
            #expect(await !again.isProved)
            try await again.close()
            #expect(try await store.entries().first?.agreedSamples == 140)
        }
    }

    @Test("J5: bytes that are not proved are replaced by the body of a whole response")
    func replaced() async throws {
        try await Self.withStore { store, folder in
            try Files.write(sampleBytes(900_000, seed: 3), to: folder["a"])
            let server = HonestServer(sampleBytes(1_000_000, seed: 4), etag: "\"x\"")
            let transfer = try await store.begin()
            _ = try await transfer.adopt(try ForeignPartial(examining: folder["a"]))
            try await server.fill(transfer)
            #expect(await transfer.isComplete)
            #expect(await transfer.agreedSamples == nil)
            #expect(await transfer.isProved)
            try await transfer.deliver(to: try Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == server.content)
        }
    }

    @Test(
        "J5: a file with the caller's digest is complete, including its last bytes; one in its name proves nothing",
        arguments: [true, false])
    func digest(isNamed: Bool) async throws {
        try await Self.withStore { store, folder in
            let bytes = sampleBytes(300_000)
            let digest = try #require(HTTPDigest(.sha256, of: bytes))
            let path = isNamed ? folder["\(digest.hexadecimal).incomplete"] : folder["a"]
            try Files.write(bytes, to: path)
            let foreign = try ForeignPartial(examining: path)
            #expect((foreign.digest == digest) == isNamed)
            let transfer = try await store.begin()
            #expect(try await transfer.adopt(foreign, digest: isNamed ? nil : digest) != isNamed)
            #expect(await transfer.isComplete != isNamed)
            #expect(await transfer.agreedSamples == (isNamed ? 0 : nil))
            #expect(HTTPDigest(field: await transfer.partial.representation?.reprDigest) == digest)
            guard !isNamed else { return try await transfer.close() }
            try await transfer.deliver(to: try Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == bytes)
        }
    }

    @Test("J5: the finished pieces of aria2 are parts, with what is missing between them")
    func pieces() async throws {
        try await Self.withStore { store, folder in
            let piece = 1 << 20
            let bytes = sampleBytes(10 * piece)
            try Files.write(bytes, to: folder["a"])
            try Files.write(
                ControlFileTests.aria2([0b1100_1101, 0b0000_0000], total: Int64(10 * piece), piece: Int64(piece)),
                to: folder["a.aria2"])
            let foreign = try ForeignPartial(examining: folder["a.aria2"])
            let mega: Int64 = 1 << 20
            var expected: [Range<Int64>] = [0..<2 * mega, 4 * mega..<6 * mega]
            expected.append(7 * mega..<8 * mega - Self.tail)
            #expect(foreign.program == .aria2 && foreign.path == folder["a"])
            #expect(foreign.ranges == expected)
            let transfer = try await store.begin()
            _ = try await transfer.adopt(foreign)
            #expect(await transfer.storedRanges == foreign.ranges)
            #expect(await transfer.partial.representation?.completeLength == Int64(10 * piece))
            #expect(await transfer.partial.length == Int64(2 * piece))
            for range in foreign.ranges {
                #expect(try await transfer.sample(range) == Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            }
            try await transfer.close()
        }
    }

    @Test("J5: without its first bytes, a file is adopted as well")
    func gapAtBeginning() async throws {
        try await Self.withStore { store, folder in
            let bytes = sampleBytes(4 << 20)
            try Files.write(bytes, to: folder["a"])
            try Files.write(
                ControlFileTests.aria2([0b0110_0000], total: 4 << 20, piece: 1 << 20), to: folder["a.aria2"])
            let transfer = try await store.begin()
            _ = try await transfer.adopt(try ForeignPartial(examining: folder["a"]))
            #expect(await transfer.partial.length == 0)
            #expect(await transfer.receivedBytes == 2_097_152 - Self.tail)
            try await transfer.prove(
                as: Representation(fields: headers("\"a\"", 4 << 20)), agreedSamples: 130, comparesDigest: true)
            let server = HonestServer(bytes, etag: "\"a\"")
            while await !transfer.isComplete { try await server.fill(transfer) }
            try await transfer.deliver(to: try Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == bytes)
        }
    }

    @Test("J5: holes, long runs of zeros and zeros at the end are not held")
    func zeros() async throws {
        try await Self.withStore { store, folder in
            var bytes = sampleBytes(8 << 20)
            for index in (2 << 20)..<(4 << 20) { bytes[index] = 0 }
            for index in (7 << 20)..<(8 << 20) { bytes[index] = 0 }
            try Files.write(bytes, to: folder["a"])
            let foreign = try ForeignPartial(examining: folder["a"])
            let expected: [Range<Int64>] = [0..<2_097_152 - Self.tail, 4_194_304..<7_340_032 - Self.tail]
            #expect(foreign.ranges == expected)

            _ = FileManager.default.createFile(atPath: folder["b"], contents: nil)
            let file = try OpenFile(folder["b"], flags: O_RDWR)
            try unsafe file.write(sampleBytes(1 << 20).span.bytes, at: 1 << 20)
            try #require(ftruncate(file.descriptor, 16 << 20) == 0)
            let sparse = try ForeignPartial(examining: folder["b"])
            let middle: Range<Int64> = 1_048_576..<2_097_152 - Self.tail
            #expect(sparse.ranges == [middle])

            for count in [0, 10, Int(Self.tail), Int(Self.tail) + 4095] {
                try Files.write(sampleBytes(count), to: folder["c"])
                let transfer = try await store.begin()
                let none = try ForeignPartial(examining: folder["c"])
                let error = await #expect(throws: StoreError.self) { _ = try await transfer.adopt(none) }
                #expect(error?.code == .noEntry)
                try await transfer.close()
            }
        }
    }

    @Test("J5: a rebuilt database still knows which bytes were adopted, even without its first page")
    func rebuilt() async throws {
        try await DownloadStore.with { store, folder in
            try Files.write(sampleBytes(1_000_000), to: folder["a"])
            let transfer = try await store.begin()
            _ = try await transfer.adopt(try ForeignPartial(examining: folder["a"]))
            try await transfer.close()
            await store.close()
            try folder.sql("PRAGMA wal_checkpoint(TRUNCATE)")
            let database = folder["store/store.sqlite"]
            var bytes = try Files.bytes(database)
            bytes.replaceSubrange(0..<4096, with: [UInt8](repeating: 0xA5, count: 4096))
            try Files.write(bytes, to: database)
            _ = try await folder.rebuild()
            let again = try await DownloadStore.open(at: folder["store"])
            let entry = try #require(try await again.entries().first)
            #expect(entry.agreedSamples == 0 && entry.receivedBytes == 1_000_000 - Self.tail)
            await again.close()
        }
    }

    /// Points at which the process is killed during an adoption.
    @Test(
        "J5: killed during the adoption: all of the bytes are there or none, and the file is unchanged",
        arguments: [
            KillPoint.blobCreated, .startedOver,
        ])
    func killed(point: KillPoint) async throws {
        try await TemporaryFolder.with { folder in
            let bytes = sampleBytes(1_000_000)
            try Files.write(bytes, to: folder["a"])
            let path: String = folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, point = point as KillPoint] in
                let store = try await DownloadStore.open(at: "\(path)/store")
                let transfer = try await store.begin()
                KillPoint.arm(point)
                _ = try await transfer.adopt(try ForeignPartial(examining: "\(path)/a"))
            }
            #expect(try Files.bytes(folder["a"]) == bytes)
            let store = try await DownloadStore.open(at: folder["store"])
            let damage = try await store.verify().filter { $0.kind != .orphan }
            #expect(damage.isEmpty, "\(damage)")
            let transfer = try await store.begin()
            let held = await transfer.receivedBytes
            #expect(held == (point == .startedOver ? 1_000_000 - Self.tail : 0))
            if held > 0 { #expect(await transfer.partial.isUnproved) }
            let server = HonestServer(sampleBytes(1_200_000, seed: 5))
            while await !transfer.isComplete { try await server.fill(transfer) }
            try await transfer.deliver(to: try Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == server.content)
            await store.close()
        }
    }

    private func headers(_ tag: String, _ length: Int64) -> HTTPFields {
        var fields = HTTPFields()
        fields[.eTag] = tag
        fields[.contentLength] = "\(length)"
        return fields
    }
}
