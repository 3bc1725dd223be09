import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// Findings of a review of gaps, checksums and rebuilding.
@Suite(.timeLimit(.minutes(10)))
struct ReviewTests {
    private static let server = HonestServer(sampleBytes(3_000_000))

    /// A store that holds all bytes of a file, in parts given by rows.
    private static func withParts(
        _ sql: String, _ body: (DownloadStore, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(.max, of: server)
            try folder.sql(sql)
            try await body(store, folder)
        }
    }

    private static func deliver(_ store: DownloadStore, to path: String) async throws {
        let transfer = try await store.begin()
        for _ in 0..<5 where await !transfer.isComplete { try await server.fill(transfer) }
        try await transfer.deliver(to: path)
    }

    @Test("A part before the last one that is not durable is synced before the whole is recorded as durable")
    func durableParts() async throws {
        let split = """
            UPDATE download SET state = 'partial'; UPDATE chunk SET received = 1500000, durable = 1000000;
            INSERT INTO chunk (download, first_byte, path, received, durable, generation)
            SELECT download, 1500000, path, 1500000, 1500000, generation FROM chunk;
            """
        try await Self.withParts(split) { store, folder in
            let transfer = try await store.begin()
            #expect(await transfer.isComplete)
            try await transfer.close()
            let entry = try #require(try await store.entry(for: TransferTests.url))
            #expect(entry.durableBytes == 3_000_000, "a clean stop loses nothing to a power cut")
            // The crash sweep checks whether the claim is true after a power loss. This test checks only the claim.
            #expect(entry.chunks.allSatisfy { $0.durable == $0.length })
        }
    }

    @Test("Overlapping parts are ignored", arguments: [10, 2_999_999])
    func overlappingParts(offset: Int) async throws {
        let planted = """
            INSERT INTO chunk (download, first_byte, path, received, durable, generation)
            SELECT download, \(offset), path, 100, 100, generation FROM chunk;
            """
        try await Self.withParts(planted) { store, folder in
            let blob = try folder.blob()
            try await Shell.run("truncate", "-s", "2000000", blob)
            _ = try await store.verify(repairing: true)
            try await Self.deliver(store, to: folder["out"])
            #expect(try Files.matches(folder["out"], Self.server.content))
        }
    }

    @Test("A delivered file that is still linked as the store's blob is never written to, even after a repair")
    func sharedFile() async throws {
        try await Self.withParts("SELECT 1") { store, folder in
            let blob = try folder.blob()
            // The state after a crash between the rename and the row's update. The user has edited the file.
            try await Shell.run("ln", blob, folder["delivered"])
            try await Shell.run("dd", "if=/dev/zero", "of=\(folder["delivered"])", "bs=1000", "count=1", "conv=notrunc")
            let edited = try Files.bytes(folder["delivered"])
            _ = try await store.verify(repairing: true)
            try await Self.deliver(store, to: folder["out"])
            #expect(try Files.bytes(folder["delivered"]) == edited)
            #expect(try Files.matches(folder["out"], Self.server.content))
        }
    }

    @Test("Using a plan twice writes nothing twice, and claims no byte that was not received")
    func stalePlan() async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(100_000, of: Self.server)
            let transfer = try await store.begin()
            let plan = await transfer.plan()
            let (head, body) = Self.server.answer(plan.fields)
            for end in [200_000, 150_000] {
                _ = try await transfer.receive(head, to: plan)
                try await transfer.write(Array(Self.server.content[body.lowerBound..<end]))
                _ = try await transfer.endBody(.cut)
                #expect(await transfer.partial.length == 200_000)
            }
            #expect(try await Self.server.deliver(transfer, to: folder["out"]))
        }
    }

    @Test("A changed byte far before the end is found before delivery, and fetched again")
    func farBack() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(12_000_000))
            try await store.leave(11_000_000, of: server)
            let blob = try folder.blob()
            try await Shell.run("dd", "if=/dev/zero", "of=\(blob)", "bs=1", "seek=3500000", "count=3", "conv=notrunc")
            let transfer = try await store.begin()
            try await server.fill(transfer)
            #expect(await transfer.isComplete)
            await #expect(throws: StoreError(.heldBytesDiffer, "")) {
                try await transfer.deliver(to: folder["out"])
            }
            #expect(!Files.exists(folder["out"]))
            #expect(await transfer.partial.nextHeld != nil)
            for _ in 0..<3 where await !transfer.isComplete { try await server.fill(transfer) }
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], server.content))
        }
    }

    @Test("A database that another program has locked is not damaged: nothing is rebuilt")
    func heldByAnother() async throws {
        try await Self.withParts("SELECT 1") { store, folder in
            await store.close()
            let other = try Connection.open(path: folder["store/store.sqlite"])
            try other.execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
            await #expect(throws: StoreError(.busy, "")) { _ = try await folder.rebuild() }
            try other.execute("ROLLBACK")
            #expect(try Files.names(in: folder["store"]).allSatisfy { !$0.hasPrefix("aside-") })
        }
    }

    @Test(
        "A damaged index does not stop a rebuild: of two rows with one key the better one is saved",
        arguments: [
            "INSERT INTO download (key, url, created_at, used_at, boot_id) SELECT key, url, 1, 1, 'x' FROM download",
            copies + "; UPDATE chunk SET durable = 0, received = \(firstBlock) WHERE download = 1",
            copies + "; UPDATE chunk SET durable = 0, received = \(firstBlock) WHERE download > 1",
        ])
    func damagedIndex(rows: String) async throws {
        try await Self.withParts("SELECT 1") { store, folder in
            await store.close()
            // The same key twice, which a missing index entry allows.
            try await Shell.run(
                "sqlite3", folder["store/store.sqlite"],
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema SET sql = replace(sql, 'TEXT NOT NULL UNIQUE', 'TEXT NOT NULL')
                    WHERE name = 'download';
                DELETE FROM sqlite_schema WHERE name = 'sqlite_autoindex_download_1';
                """)
            try folder.sql(
                """
                \(rows);
                PRAGMA wal_checkpoint(TRUNCATE);
                """)
            let report = try await folder.rebuild()
            #expect(report.saved == [TransferTests.url] && report.savedBytes == 3_000_000)
            let again = try await DownloadStore.open(at: folder["store"])
            #expect(try await again.entries().map(\.receivedBytes) == [3_000_000])
            try await Self.deliver(again, to: folder["out"])
            await again.close()
        }
    }

    private static let firstBlock = "(SELECT length FROM block WHERE first_byte = 0 LIMIT 1)"

    /// The row of the download a second time, with the same blob and checksums.
    private static let copies = """
        INSERT INTO download (id, key, url, etag, complete_length, generation, created_at, used_at, boot_id)
        SELECT id + 1, key, url, etag, complete_length, generation, 1, 1, boot_id FROM download;
        INSERT INTO chunk (download, first_byte, path, received, durable, generation)
        SELECT download + 1, first_byte, path, received, durable, generation FROM chunk;
        INSERT INTO block SELECT download + 1, first_byte, length, crc32c FROM block
        """

    @Test("A missing database beside blobs is damage, not a new store")
    func databaseGone() async throws {
        try await Self.withParts("SELECT 1") { store, folder in
            await store.close()
            for name in try Files.names(in: folder["store"]) where name.hasPrefix("store.sqlite") {
                try FileManager.default.removeItem(atPath: folder["store/\(name)"])
            }
            for creates in [true, false] {
                await #expect(throws: StoreError(.damaged, "")) {
                    _ = try await DownloadStore.open(at: folder["store"], creating: creates)
                }
            }
            #expect(try await folder.rebuild().asideBlobs == 1)
            await (try DownloadStore.open(at: folder["store"])).close()
        }
    }
}
