import Foundation
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import TestSupport
import Testing

/// Collections of a store that is too large for one.
@Suite(.timeLimit(.minutes(20)))
struct CollectorPartsTests {
    private static func fileName(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    @Test("Each collection looks for files without rows in the next folder, and one that compares all in all of them")
    func folders() async throws {
        try await DownloadStore.with { store, folder in
            let parts = ["blobs/07/", "blobs/e0/", "blobs/"]
            for part in parts {
                try FileManager.default.createDirectory(
                    atPath: folder["store/\(part)"], withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
                for number in 0..<2100 { try Files.write([1], to: folder["store/\(part)\(Self.fileName(number))"]) }
            }
            // A dry run changes nothing, not even where the next one begins.
            for _ in 0..<2 {
                #expect(try await store.collect(dryRun: true).orphans.allSatisfy { $0.hasPrefix(parts[0]) })
            }
            #expect(try await store.collect(dryRun: true, comparesAll: true).orphans.count == 6300)
            for part in parts {
                let orphans = try await store.collect().orphans
                #expect(orphans.count == 2100 && orphans.allSatisfy { $0.dropLast(32) == part }, "\(part)")
            }
            #expect(try await store.collect().orphans.isEmpty)
            #expect(try await store.verify().isEmpty)
        }
    }

    /// Entries without files.
    private static let lost = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO download (key, url, generation, created_at, used_at, boot_id, received, gone_at)
        SELECT 'key' || i, 'http://127.0.0.1/' || i, 1, i, unixepoch() * 1000, 'x', 10, iif(i = 4999, 1, NULL) FROM n;
        INSERT INTO chunk (download, first_byte, path, received, generation)
        SELECT id, 0, printf('blobs/%032x', id), 10, 1 FROM download;
        UPDATE store SET entries = 5000, received = 50000;
        """

    @Test("Each collection looks at the next entries, reports them in batches, and the following one continues")
    func entries() async throws {
        try await DownloadStore.with { store, folder in
            try folder.sql(Self.lost)
            var batches: [Int] = []
            let first = try await store.collect { batches.append($0.removed.count) }
            #expect(first.removed.isEmpty && first.removedCount == 4096)
            #expect(batches.count >= 16 && batches.allSatisfy { $0 <= 256 } && batches.reduce(0, +) == 4096)
            let second = try await store.collect()
            #expect(second.removed.filter { $0.reason.code.rawValue == "gone" }.map(\.key) == ["key4999"])
            #expect(second.removedCount == 904)
            #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        }
    }

    @Test("A purge reports batches, and its sums at the end")
    func purge() async throws {
        try await DownloadStore.with { store, folder in
            try folder.sql(Self.lost)
            var keys: [String] = []
            let report = try await store.purge(onBatch: { keys += $0.removed.map(\.key) }, where: { $0.id % 2 == 0 })
            #expect(report.removed.isEmpty && report.removedCount == 2500 && report.freedBytes == 25_000)
            #expect(keys == (1...2500).map { "key\($0 * 2)" })
            #expect(try await store.totals() == Totals(entries: 2500, receivedBytes: 25_000))
        }
    }

    @Test("A process makes at most 256 blobs in one folder, and finds them again")
    func fanOut() async throws {
        try await DownloadStore.with { store, folder in
            for number in 0..<600 { try await CollectorTests.put("\(number)", 10, into: store) }
            let names = try folder.blobs()
            #expect(names.count == 600)
            let counts = Dictionary(grouping: names) { $0.prefix(3) }
            #expect(counts.count >= 2 && counts.keys.allSatisfy { $0.hasSuffix("/") })
            #expect(try await store.verify().isEmpty)
            #expect(try await store.collect(maximumSize: 0).removed.count == 600)
            #expect(try folder.blobs().isEmpty)
        }
    }
}
