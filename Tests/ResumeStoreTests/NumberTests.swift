import ResumeHTTP
import ResumeMaintenance
import ResumeStore
import TestSupport
import Testing

/// Row numbers that another program has set so high that SQLite assigns no further ones.
@Suite(.timeLimit(.minutes(5)))
struct NumberTests {
    private static func request(_ name: String) -> Job {
        Job(
            key: name, url: TransferTests.url, destination: "/\(name)", state: .waiting, priority: 0,
            isExclusive: false,
            position: 0, terms: nil)
    }

    @Test(
        "A queue with no numbers left for itself or its requests continues with the existing ones",
        arguments: ["queue", "queued"])
    func queues(table: String) async throws {
        try await DownloadStore.with { store, folder in
            let first = try await store.jobTable(named: "first", isShared: false)
            _ = try await first.record([Self.request("a")], removing: [])
            try folder.sql("UPDATE sqlite_sequence SET seq = \(Int64.max) WHERE name = '\(table)'")
            let second = try await store.jobTable(named: "second", isShared: false)
            for queue in [first, second] { _ = try await queue.record([Self.request("b")], removing: []) }
            #expect(try await first.queued().map(\.key).sorted() == ["a", "b"])
            #expect(try await second.queued().map(\.key) == ["b"])
        }
    }

    @Test("Rows with the highest number are removed, those with others stay", arguments: ["queue", "queued"])
    func rows(table: String) async throws {
        try await DownloadStore.with { store, folder in
            let first = try await store.jobTable(named: "first", isShared: false)
            _ = try await first.record([Self.request("a")], removing: [])
            try folder.sql(
                table == "queue"
                    ? "INSERT INTO queue (id, name) VALUES (\(Int64.max), 'planted')"
                    : """
                    INSERT INTO queued (id, queue, key, url, destination, state, priority, forced, position)
                    VALUES (\(Int64.max), (SELECT max(id) FROM queue), 'p', 'http://h/p', '/p', 'waiting', 0, 0, 0)
                    """)
            let second = try await store.jobTable(named: "second", isShared: false)
            _ = try await second.record([Self.request("b")], removing: [])
            #expect(try await first.queued().map(\.key) == ["a"])
            #expect(try folder.integer("SELECT max(id) FROM \(table)") < 10)
        }
    }

    @Test("A rebuild renumbers rows if no numbers are left", arguments: ["download", "queue", "queued"])
    func rebuild(table: String) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: HonestServer(sampleBytes(300_000)))
            let queue = try await store.jobTable(named: "queue", isShared: false)
            _ = try await queue.record([Self.request("a")], removing: [])
            queue.close()
            await store.close()
            try folder.sql(
                """
                PRAGMA foreign_keys = OFF;
                UPDATE download SET id = \(Int64.max);
                UPDATE chunk SET download = \(Int64.max);
                UPDATE block SET download = \(Int64.max);
                UPDATE sqlite_sequence SET seq = \(Int64.max) WHERE name = '\(table)';
                """)
            let report = try await folder.rebuild()
            #expect(!report.wasWhole && report.savedBytes == 200_000)
            #expect(try folder.integer("SELECT max(seq) FROM sqlite_sequence") < 10)
            let again = try await DownloadStore.open(at: folder["store"])
            #expect(try await again.entries().map(\.receivedBytes) == [200_000])
            #expect(try await again.jobTable(named: "queue", isShared: false).queued().map(\.key) == ["a"])
            await again.close()
        }
    }

    /// Makes the rows of `a` unreadable.
    private static let plantedChanges = [
        "UPDATE chunk SET received = \(Int64.max) WHERE download = (SELECT id FROM download WHERE key LIKE '%a')",
        "UPDATE download SET selection = 'nonsense' WHERE key LIKE '%a'",
        "PRAGMA foreign_keys = OFF; UPDATE download SET id = -5 WHERE key LIKE '%a'",
        "PRAGMA foreign_keys = OFF; DELETE FROM download WHERE key LIKE '%a'",
    ]

    /// The operation that removes them.
    enum Remover: CaseIterable, Sendable {
        case verify, rebuild, collector, purge
    }

    @Test(
        "Unreadable rows do not count once the store is repaired, rebuilt, collected or purged",
        arguments: plantedChanges, Remover.allCases)
    func unreadable(change: String, remover: Remover) async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b"] { try await CollectorTests.put(name, 100_000, into: store) }
            await store.close()
            try folder.sql("\(change); UPDATE store SET received = 1 << 50")
            if remover == .rebuild { #expect(try await !folder.rebuild().wasWhole) }
            let again = try await DownloadStore.open(at: folder["store"])
            switch remover {
            case .verify: #expect(try await again.verify(repairing: true).contains { $0.kind == .rows })
            case .rebuild: break
            // Nothing is removed because of a wrong sum.
            case .collector: #expect(try await again.collect(maximumSize: 100_000).removed.map(\.bytes).max() ?? 0 == 0)
            case .purge: _ = try await again.purge { _ in false }
            }
            _ = try await again.collect()
            #expect(try await again.verify().isEmpty)
            #expect(try await again.totals().receivedBytes == 100_000)
            await again.close()
        }
    }

    @Test(
        "An event with the highest number affects neither the events before it nor the order after it",
        arguments: [Int64.max, Int64.max - 3])
    func events(number: Int64) async throws {
        try await DownloadStore.with { store, folder in
            let record: (Int) async throws -> Void = { index in
                try await store.record(
                    .refused, key: "key", reason: Reason(code: "test", text: "\(index)"))
            }
            for index in 0..<10 { try await record(index) }
            try folder.sql(
                """
                INSERT INTO event (id, key, at, kind, reason) VALUES (\(number), 'key', 0, 'refused', 'test: planted');
                INSERT INTO event (id, key, at, kind, reason) VALUES (\(Int64.min), 'key', 0, 'refused', 'test: low');
                """)
            for index in 10..<1200 { try await record(index) }
            #expect(try await store.events(for: "key").map(\.reason.text) == (200..<1200).map { "\($0)" })
            #expect(try folder.integer("SELECT max(id) FROM event") < 2000)
        }
    }

    @Test("The events before one with the highest number stay")
    func earlierEvents() async throws {
        try await DownloadStore.with { store, folder in
            let reason = Reason(code: "test", text: "x")
            for key in ["a", "b"] { try await store.record(.refused, key: key, reason: reason) }
            try folder.sql(
                "INSERT INTO event (id, key, at, kind, reason) VALUES (\(Int64.max), 'p', 0, 'refused', 'test: x')")
            for key in ["c", "d"] { try await store.record(.refused, key: key, reason: reason) }
            #expect(try await store.events().map(\.key) == ["a", "b", "p", "c", "d"])
        }
    }
}
