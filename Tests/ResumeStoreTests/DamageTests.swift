import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// Bytes that change in the store: checksums detect them, and only the damaged blocks are dropped and fetched again.
@Suite(.timeLimit(.minutes(10)))
struct DamageTests {
    private static let server = HonestServer(sampleBytes(6_000_000))
    private static let held = 5_000_000

    /// A store with a partial whose bytes at the given offsets were changed.
    private static func withDamage(
        at offsets: [Int], _ body: (DownloadStore, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            // Two sessions, so that a block ends between them.
            for end in [4_000_000, held] { try await store.leave(end, of: server) }
            let path = try folder.blob()
            try flip(offsets, in: path)
            try await body(store, folder)
        }
    }

    /// A store with a partial of so many bytes that the first ones are not compared when they are found, its folder, the
    /// server of the partial, and the path of its blob.
    private static func withManyBytes(
        _ body: (DownloadStore, TemporaryFolder, HonestServer, String) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(9_000_000))
            try await store.leave(8_000_000, of: server)
            let blob = try folder.blob()
            try await body(store, folder, server, blob)
        }
    }

    private static func flip(_ offsets: [Int], in path: String) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        for offset in offsets {
            try file.seek(toOffset: UInt64(offset))
            try file.write(contentsOf: [server.content[offset] ^ 0x40])
        }
        try file.close()
    }

    /// Downloads what is missing.
    ///
    /// - Returns: The requested ranges.
    private static func finish(_ store: DownloadStore, _ folder: TemporaryFolder) async throws -> [String] {
        var asked: [String] = []
        let transfer = try await store.begin()
        while await !transfer.isComplete {
            asked.append(await transfer.plan().fields[.range] ?? "all")
            try await server.fill(transfer)
            guard asked.count < 10 else { break }
        }
        try await transfer.deliver(to: folder["out"])
        #expect(try Files.matches(folder["out"], server.content))
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        return asked
    }

    /// The number of bytes in a range of a plan.
    private static func count(_ range: String) -> Int {
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        return (ends.count > 1 ? ends[1] + 1 : server.content.count) - ends[0]
    }

    @Test("verify finds each changed byte, --repair drops only its block, and only that is fetched again")
    func middle() async throws {
        try await Self.withDamage(at: [3_500_000]) { store, folder in
            #expect(try await store.verify().map(\.kind) == [.blockDamaged])
            #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == Int64(Self.held))
            #expect(try await store.verify(repairing: true).allSatisfy(\.isRepaired))
            #expect(try await store.verify().isEmpty)
            let entry = try #require(try await store.entry(for: TransferTests.url))
            #expect(entry.chunks.count >= 2)
            #expect(entry.receivedBytes > Self.held - 5_000_000 / 2 - 1_100_000 && entry.receivedBytes < Self.held)
            #expect(try await store.totals().receivedBytes == entry.receivedBytes)
            let asked = try await Self.finish(store, folder)
            // Each request includes 4 KiB of overlap before it, and gaps have the same overlap after them.
            let fetched = asked.reduce(0) { $0 + Self.count($1) }
            let overlaps = (asked.count * 2 - 1) * 4096
            #expect(fetched - overlaps == Self.server.content.count - Int(entry.receivedBytes))
        }
    }

    @Test("Bytes of an earlier version that goes on are compared with their checksums before they are read")
    func olderVersion() async throws {
        try await Self.withManyBytes { store, _, old, blob in
            let new = HonestServer(sampleBytes(300_001, seed: 2), etag: "\"v2\"")
            try await store.leave(100_000, of: new)
            try Self.flip([100], in: blob)
            let transfer = try await store.begin()
            #expect(await transfer.partial.representation?.entityTag?.bytes == Array("\"v2\"".utf8))
            #expect(try await transfer.goesBack(after: old.answer(HTTPFields()).0))
            #expect(try await old.fill(transfer))
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await transfer.read(0..<1000) }
            #expect(try await transfer.read(7_000_000..<7_000_100) == Array(old.content[7_000_000..<7_000_100]))
            try await transfer.close()
        }
    }

    @Test("Damage that could not be recorded is found again, whoever asks at the same time")
    func unrecorded() async throws {
        try await Self.withManyBytes { store, folder, server, blob in
            try Self.flip([100], in: blob)
            let transfer = try await store.begin()
            #expect(try await server.fill(transfer))
            try folder.sql("CREATE TRIGGER full BEFORE DELETE ON chunk BEGIN SELECT RAISE(ABORT, 'no room'); END")
            let destination = folder["file"]
            for _ in 0..<2 {
                await #expect(throws: StoreError.self) { try await transfer.deliver(to: destination) }
            }
            try folder.sql("DROP TRIGGER full")
            async let other = transfer.confirmHeld()
            await #expect(throws: StoreError.self) { try await transfer.deliver(to: destination) }
            _ = try? await other
            #expect(!Files.exists(destination))
            try await transfer.close()
        }
    }

    @Test("A damaged first block is fetched alone too")
    func beginning() async throws {
        try await Self.withDamage(at: [0]) { store, folder in
            _ = try await store.verify(repairing: true)
            let transfer = try await store.begin()
            #expect(await transfer.partial.length == 0)
            let next = try #require(await transfer.partial.nextHeld).lowerBound
            let plan = await transfer.plan()
            #expect(plan.fields[.range] == "bytes=0-\(next + 4095)" && plan.fields[.ifRange] == Self.server.etag)
            #expect(await transfer.receivedBytes == Int64(Self.held) - next)
            try await transfer.close()
            #expect(try await Self.finish(store, folder).count == 2)
        }
    }

    @Test("The last bytes are compared on resume: damaged ones are dropped, the rest is kept")
    func onResuming() async throws {
        try await Self.withDamage(at: [4_500_000]) { store, folder in
            let transfer = try await store.begin()
            #expect(await transfer.partial.length == 4_000_000, "the block of the second visit is dropped")
            try await transfer.close()
            #expect(try await store.events(for: TransferTests.url).last?.kind == .damaged)
            #expect(try await store.verify().isEmpty)
            #expect(try await Self.finish(store, folder).count == 1)
        }
    }

    @Test("A gap survives a stop within it, a stop after it, and a reboot")
    func gapStays() async throws {
        try await Self.withDamage(at: [3_500_000]) { store, folder in
            _ = try await store.verify(repairing: true)
            let first = try await store.begin()
            let (start, end) = (await first.partial.length, try #require(await first.partial.nextHeld).lowerBound)
            try await Self.server.fill(first, upTo: Int(start) + 40_000)
            let afterStop = await first.partial
            #expect(afterStop.length == start + 40_000 && afterStop.nextHeld?.lowerBound == end)
            try await first.close()
            try folder.sql("UPDATE download SET boot_id = 'another'")
            let second = try await store.begin()
            let afterCut = await second.partial
            #expect(afterCut.length == start + 40_000 && afterCut.nextHeld?.lowerBound == end)
            try await Self.server.fill(second)
            let filled = await second.partial
            #expect(filled.length == Int64(Self.held) && filled.nextHeld == nil)
            try await second.close()
            try folder.sql("UPDATE download SET boot_id = 'yet another'")
            #expect(try await Self.finish(store, folder).count == 1)
        }
    }

    @Test("If a server answers a gap with the whole file, the body is read only to the end of the gap")
    func wholeForGap() async throws {
        try await Self.withDamage(at: [3_500_000]) { store, folder in
            _ = try await store.verify(repairing: true)
            let transfer = try await store.begin()
            let end = try #require(await transfer.partial.nextHeld).lowerBound
            let plan = await transfer.plan()
            let (head, _) = Self.server.answer([:])
            _ = try await transfer.receive(head, to: plan)
            try await transfer.write(Array(Self.server.content[..<(Int(end) + 1000)]))
            #expect(!transfer.hasAllWanted, "what comes after the gap is compared")
            try await transfer.write(Array(Self.server.content[(Int(end) + 1000)..<(Int(end) + 9000)]))
            #expect(transfer.hasAllWanted)
            #expect(try await transfer.endBody(.cut) == false)
            #expect(await transfer.partial.length == Int64(Self.held))
            try await transfer.close()
            #expect(try await Self.finish(store, folder).count == 1)
        }
    }

    @Test("A gap is also compared at its far end: other bytes with the same entity tag are not mixed in")
    func farEnd() async throws {
        try await Self.withDamage(at: [0]) { store, folder in
            _ = try await store.verify(repairing: true)
            let transfer = try await store.begin()
            let end = Int(try #require(await transfer.partial.nextHeld).lowerBound)
            // The bytes before the gap do not show the difference.
            let other = HonestServer(sampleBytes(Self.server.content.count, seed: 9))
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await other.fill(transfer, upTo: end + 4096) }
            try await transfer.close()
        }
    }

    @Test("Blocks cover the stored bytes and are removed with them")
    func blocks() async throws {
        try await Self.withDamage(at: []) { store, folder in
            let sums = "SELECT count(*) || ' ' || ifnull(sum(length), 0) FROM block"
            let connection = try Connection.open(path: folder["store/store.sqlite"])
            let before = try #require(try connection.text(sums)).split(separator: " ").compactMap { Int($0) }
            #expect(before[0] >= 2 && before[1] == Self.held)
            #expect(try await store.purge(where: { _ in true }).inUse.isEmpty)
            #expect(try connection.text(sums) == "0 0")
        }
    }

    @Test("Parts whose generation differs from their download's are ignored")
    func foreignParts() async throws {
        try await Self.withDamage(at: []) { store, folder in
            try folder.sql("UPDATE chunk SET generation = 7")
            #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == 0)
            let transfer = try await store.begin()
            #expect(await transfer.plan() == .whole(reason: nil))
            try await transfer.close()
        }
    }

    @Test("A damaged data file that has a second link is never written to: the download restarts")
    func shared() async throws {
        try await Self.withDamage(at: []) { store, folder in
            let more = HonestServer(sampleBytes(10_000_000))
            try await store.leave(9_000_000, of: more, url: "http://127.0.0.1/more")
            let entry = try #require(try await store.entry(for: "http://127.0.0.1/more"))
            let blob = folder["store/\(entry.chunks[0].path)"]
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: blob))
            try file.write(contentsOf: [more.content[0] ^ 1])
            try file.close()
            let again = try await store.begin("http://127.0.0.1/more")
            #expect(await again.partial.length == 9_000_000)
            try await Shell.run("ln", blob, folder["linked"])
            let before = try Files.bytes(folder["linked"])
            #expect(try await again.confirmHeld() == false)
            #expect(await again.plan() == .whole(reason: nil))
            #expect(try await more.fill(again))
            let isRight = try await again.takeData(upTo: .max) == more.content
            let isUntouched = try Files.bytes(folder["linked"]) == before
            #expect(isRight && isUntouched)
        }
    }

    @Test("Damage found after another process restarted the download does not affect the restarted download")
    func superseded() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(10_000_000))
            try await store.leave(9_000_000, of: server)
            let blob = try folder.blob()
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: blob))
            try file.write(contentsOf: [server.content[0] ^ 1])
            try file.close()
            let transfer = try await store.begin()
            try folder.sql("UPDATE download SET generation = 1; UPDATE chunk SET generation = 1")
            await #expect(throws: StoreError(.superseded, "")) { try await transfer.confirmHeld() }
            #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == 9_000_000)
        }
    }

    @Test("A complete file that was delivered, then changed with unchanged times, is fetched again")
    func sharedComplete() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(.max, of: Self.server)
            let blob = try folder.blob()
            // The state after a crash between the rename and the row's update.
            try folder.sql("UPDATE download SET state = 'complete'; UPDATE chunk SET durable = received")
            try await Shell.run("ln", blob, folder["delivered"])
            try Self.flip([5_999_000], in: blob)
            try await Shell.run("touch", "-d", "2001-01-01", blob)
            let edited = try Files.bytes(folder["delivered"])
            #expect(try await Self.finish(store, folder) == ["all"])
            #expect(try Files.matches(folder["delivered"], edited))
        }
    }

    @Test("A blob that is also linked elsewhere is not continued, whatever the row says", arguments: [false, true])
    func sharedPartial(hasChecksums: Bool) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(1_500_000, of: Self.server)
            let blob = try folder.blob()
            try await Shell.run("ln", blob, folder["mine"])
            try await Shell.run("touch", "-d", "2001-01-01", folder["mine"])
            try folder.sql("UPDATE download SET state = 'complete'\(hasChecksums ? "" : "; DELETE FROM block")")
            let mine = try Files.bytes(folder["mine"])
            #expect(try await Self.finish(store, folder) == ["all"])
            #expect(try Files.matches(folder["mine"], mine))
        }
    }

    @Test("Checksums with impossible values are ignored and do no harm")
    func plantedBlocks() async throws {
        try await Self.withDamage(at: []) { store, folder in
            try folder.sql("PRAGMA ignore_check_constraints = ON; UPDATE block SET crc32c = -1")
            let found = try await store.verify()
            #expect(found.allSatisfy { $0.kind == .database && $0.detail.contains("block") } && !found.isEmpty)
            #expect(try await Self.finish(store, folder).count == 1)
        }
    }
}
