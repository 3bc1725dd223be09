import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CollectorTests {
    /// Adds a partial of a given size to a store.
    ///
    /// Its last use is one second after that of the previous partial.
    static func put(_ name: String, _ size: Int, into store: DownloadStore) async throws {
        let transfer = try await store.begin("http://127.0.0.1/\(name)")
        try await HonestServer(sampleBytes(size * 2, seed: UInt64(size))).fill(transfer, upTo: size)
        try await transfer.close()
        let connection = try Connection.open(path: "\(store.path)/store.sqlite")
        try connection.execute("UPDATE download SET used_at = used_at - 1000")
    }

    static func names(_ store: DownloadStore) async throws -> [String] {
        try await store.entries().map { String($0.key.split(separator: "/").last ?? "") }
    }

    @Test("The least recently used entries are removed first, and only as many as necessary")
    func leastRecentlyUsed() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b", "c", "d"] { try await Self.put(name, 100_000, into: store) }
            try await (store.begin("http://127.0.0.1/a")).close()
            #expect(try await store.collect(maximumSize: 250_000, dryRun: true).removed.count == 2)
            #expect(try await Self.names(store).count == 4)
            let report = try await store.collect(maximumSize: 250_000)
            #expect(report.removed.map(\.key) == ["http://127.0.0.1/b", "http://127.0.0.1/c"])
            #expect(report.freedBytes == 200_000)
            #expect(try await Self.names(store) == ["d", "a"])
            #expect(try folder.blobs().count == 2)
            #expect(try await store.totals().receivedBytes == 200_000)
            #expect(try await store.verify().isEmpty)
        }
    }

    @Test("Expired entries are removed first, even if the store is nearly empty; pinned ones are kept")
    func expired() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["old", "pinned", "new"] { try await Self.put(name, 1000, into: store) }
            try folder.sql("UPDATE download SET used_at = used_at - 90000000 WHERE key NOT LIKE '%new'")
            #expect(try await store.setPinned(true, for: "http://127.0.0.1/pinned"))
            let report = try await store.collect(maximumAge: .seconds(86_400))
            #expect(report.removed.map(\.reason.code.rawValue) == ["expired"])
            #expect(try await Self.names(store) == ["pinned", "new"])
            // Reported only if it is the reason that the store exceeds its limit.
            #expect(report.pinned.isEmpty)
            try await Self.put("larger", 2000, into: store)
            #expect(try await store.setPinned(true, for: "http://127.0.0.1/larger"))
            let rest = try await store.collect(maximumSize: 0)
            #expect(rest.pinned == ["http://127.0.0.1/larger", "http://127.0.0.1/pinned"])
            #expect(try await Self.names(store).sorted() == ["larger", "pinned"])
        }
    }

    @Test("M09, T22, T23: an entry in use is never removed, and the next ones are tried")
    func inUse() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["running", "idle"] { try await Self.put(name, 100_000, into: store) }
            let transfer = try await store.begin("http://127.0.0.1/running")
            try folder.sql("UPDATE download SET used_at = 1 WHERE key LIKE '%running'")
            #expect(try await store.collect(maximumSize: 0).inUse == ["http://127.0.0.1/running"])
            #expect(try await Self.names(store) == ["running"])
            #expect(await transfer.partial.length == 100_000)
            let purge = try await store.purge { _ in true }
            #expect(purge.removed.isEmpty && purge.inUse.count == 1)
            try await transfer.close()
            _ = try await store.collect(maximumSize: 0)
            #expect(try await Self.names(store).isEmpty)
        }
    }

    @Test("T25: files without rows and rows without files are removed, foreign files are kept")
    func orphans() async throws {
        try await DownloadStore.with { store, folder in
            try await Self.put("a", 1000, into: store)
            try await Self.put("b", 1000, into: store)
            let blobs = folder["store/blobs"]
            let first = try #require(try await store.entry(for: "http://127.0.0.1/a")?.chunks.first)
            try FileManager.default.removeItem(atPath: folder["store/\(first.path)"])
            try Files.write(sampleBytes(10_000), to: "\(blobs)/0123456789abcdef0123456789abcdef")
            try Files.write([1], to: "\(blobs)/notes.txt")
            try await Shell.run("mkdir", "\(blobs)/ffffffffffffffffffffffffffffffff")
            #expect(Set(try await store.verify().map(\.kind)) == [.blobMissing, .orphan])
            #expect(try await store.collect().orphans == ["blobs/0123456789abcdef0123456789abcdef"])
            #expect(try await Self.names(store) == ["b"])
            #expect(try Files.names(in: blobs).contains("notes.txt"))
            #expect(try await store.verify().isEmpty)
        }
    }

    @Test("T24: a thousand entries are removed in batches, and the totals agree throughout")
    func many() async throws {
        try await DownloadStore.with { store, folder in
            await store.close()
            try folder.sql(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
                INSERT INTO download (key, url, generation, created_at, used_at, boot_id, received)
                SELECT 'key' || i, 'http://127.0.0.1/' || i, 1, i, i, 'x', 10 FROM n;
                INSERT INTO chunk (download, first_byte, path, received, generation)
                SELECT id, 0, printf('blobs/%032x', id), 10, 1 FROM download;
                UPDATE store SET entries = 1000, received = 10000;
                """)
            let again = try await DownloadStore.open(at: folder["store"])
            for number in 1...1000 {
                let name = String(number, radix: 16)
                try Files.write([0], to: folder["store/blobs/\(String(repeating: "0", count: 32 - name.count))\(name)"])
            }
            #expect(try await again.collect(maximumSize: 2000, maximumAge: .seconds(Int64.max)).removed.count == 800)
            #expect(try await again.totals() == Totals(entries: 200, receivedBytes: 2000))
            #expect(try folder.blobs().count == 200)
        }
    }

    @Test("verify --repair keeps what is intact and drops the rest")
    func repair() async throws {
        try await DownloadStore.with { store, folder in
            try await Self.put("a", 100_000, into: store)
            let chunk = try #require(try await store.entry(for: "http://127.0.0.1/a")?.chunks.first)
            try await Shell.run("truncate", "-s", "40000", folder["store/\(chunk.path)"])
            try folder.sql("UPDATE store SET received = 7")
            #expect(try await store.verify().map(\.kind) == [.blobShort, .totals])
            #expect(try await store.verify(repairing: true).allSatisfy(\.isRepaired))
            #expect(try await store.verify().isEmpty)
            #expect(try await store.entry(for: "http://127.0.0.1/a")?.receivedBytes == 40_000)
        }
    }

    @Test(
        "A full file system: the error is reported, the partial data is kept and the collector still works",
        .enabled(if: Shell.isRoot && Shell.has("mount"), "needs to mount a file system"))
    func fullDisk() async throws {
        try await TemporaryFolder.with { folder in
            try await folder.withDisk("-t tmpfs -o size=6m tmpfs") { try await fill(folder) }
        }
    }

    private func fill(_ folder: TemporaryFolder) async throws {
        let store = try await DownloadStore.open(at: folder["disk/store"])
        try await Self.put("old", 2_000_000, into: store)
        // Announced as larger than the disk: refused before a byte is written, and the idle entry is removed for it.
        let transfer = try await store.begin("http://127.0.0.1/huge")
        await #expect(throws: StoreError(.noSpace, "")) {
            try await HonestServer(sampleBytes(7_000_000)).fill(transfer, upTo: 1)
        }
        try await transfer.close()
        try await Self.put("kept", 2_000_000, into: store)
        let running = try await store.begin("http://127.0.0.1/kept")
        let before = await running.partial.length
        // Another program fills the disk to the last byte.
        _ = try await Shell.outcome("dd", ["if=/dev/zero", "of=\(folder["disk/filler"])", "bs=4096"])
        await #expect(throws: StoreError(.noSpace, "")) {
            try await HonestServer(sampleBytes(4_000_000, seed: 2_000_000)).fill(running)
        }
        try? await running.close()
        #expect(try await store.entry(for: "http://127.0.0.1/kept")?.receivedBytes == before)
        let checks = try await store.diagnose()
        #expect(checks.first { $0.name == "free_bytes" }?.problem == "the file system is almost full")
        let free = try store.freeSpace()
        #expect(try await store.collect(maximumSize: 0).removed.count == 1)
        // Minus what the reserve file takes up again. A closed transfer may still hold its file open for a moment.
        try await wait(for: "space is freed") { try store.freeSpace() - free >= 1_500_000 }
        #expect(try await store.verify().isEmpty)
        await store.close()
    }
}
