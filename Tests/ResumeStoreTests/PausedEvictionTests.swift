import HTTPTypes
import ResumeHTTP
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// Downloads that a queue or a task has paused are evicted last.
@Suite(.timeLimit(.minutes(5)))
struct PausedEvictionTests {
    private static func key(_ name: String) -> String { "http://127.0.0.1/\(name)" }

    /// Adds requests for some downloads to a queue.
    private static func queue(
        _ names: [String], state: Job.State = .paused, in store: DownloadStore, _ lease: JobTable
    ) async throws {
        let requests = names.map { name in
            Job(
                key: key(name), url: key(name), destination: "/\(name)", state: state, priority: 0, isExclusive: false,
                position: 0, terms: nil,
                failure: state == .failed ? Reason(code: "status-404", text: "no") : nil)
        }
        _ = try await lease.record(requests, removing: [])
    }

    /// A store with four downloads of 100,000 bytes each, `a` the least recently used, and a queue.
    private static func withStore(
        _ body: (DownloadStore, JobTable, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b", "c", "d"] { try await CollectorTests.put(name, 100_000, into: store) }
            let lease = try await store.jobTable(named: "queue", isShared: false)
            try await body(store, lease, folder)
            lease.close()
        }
    }

    @Test(
        "Downloads that a queue will resume are evicted after everything else, with a separate reason",
        arguments: [Job.State.paused, .waiting, .running])
    func order(state: Job.State) async throws {
        try await Self.withStore { store, lease, _ in
            try await Self.queue(["a", "c"], state: state, in: store, lease)
            let dry = try await store.collect(maximumSize: 100_000, dryRun: true)
            #expect(dry.removed.map(\.key) == ["b", "d", "a"].map(Self.key))
            #expect(try await lease.evictedBytes().isEmpty)
            let report = try await store.collect(maximumSize: 100_000)
            #expect(report.removed.map(\.key) == dry.removed.map(\.key))
            #expect(report.removed.map(\.reason.code.rawValue) == ["over-budget", "over-budget", "paused-over-budget"])
            #expect(try await lease.evictedBytes() == [Self.key("a"): 100_000])
            let event = try #require(try await store.events(for: Self.key("a")).last)
            #expect(event.kind == .evicted && event.bytes == 100_000)
            #expect(event.reason.code.rawValue == "paused-over-budget")
            #expect(try await lease.takeEvictedBytes(of: Self.key("a")) == 100_000)
            #expect(try await lease.takeEvictedBytes(of: Self.key("a")) == 0)
        }
    }

    @Test("A queue's download is found in whichever variant is stored")
    func variant() async throws {
        try await Self.withStore { store, lease, folder in
            try folder.sql("UPDATE download SET key = key || '#variant=2', variant = 2 WHERE key LIKE '%/a'")
            try await Self.queue(["a"], in: store, lease)
            #expect(try await lease.queued().map(\.receivedBytes) == [100_000])
            #expect(try await store.resumeData(for: Self.key("a"))?.url.absoluteString == Self.key("a"))
            let report = try await store.collect(maximumSize: 0)
            #expect(report.removed.last?.key == Self.key("a") + "#variant=2")
            #expect(report.removed.last?.reason.code.rawValue == "paused-over-budget")
            #expect(try await lease.evictedBytes() == [Self.key("a"): 100_000])
            #expect(try await store.evictedBytes(key: Self.key("a")) == 100_000)
        }
    }

    @Test("Paused downloads neither expire nor go because the server lacks them; permanently failed ones do")
    func expired() async throws {
        try await Self.withStore { store, lease, folder in
            try await Self.queue(["a", "b"], in: store, lease)
            try await Self.queue(["c"], state: .failed, in: store, lease)
            try folder.sql(
                """
                UPDATE download SET used_at = used_at - 90000000 WHERE key NOT LIKE '%d';
                UPDATE download SET gone_at = 1 WHERE key LIKE '%b' OR key LIKE '%d';
                """)
            let report = try await store.collect(maximumAge: .seconds(86_400))
            #expect(report.removed.map(\.key) == ["c", "d"].map(Self.key))
            #expect(report.removed.map(\.reason.code.rawValue) == ["expired", "gone"])
            #expect(try await lease.evictedBytes() == [Self.key("c"): 100_000])
            // If nothing else is left, they are removed too.
            #expect(try await store.collect(maximumSize: 0).removed.map(\.key) == ["a", "b"].map(Self.key))
        }
    }

    @Test("Every queue that wants a download is notified of its eviction, and each counts the lost bytes")
    func twoQueues() async throws {
        try await Self.withStore { store, lease, folder in
            let other = try await store.jobTable(named: "other", isShared: false)
            for queue in [lease, other] { try await Self.queue(["a"], in: store, queue) }
            _ = try await store.collect(maximumSize: 0)
            #expect(try await lease.takeEvictedBytes(of: Self.key("a")) == 100_000)
            try await CollectorTests.put("a", 50_000, into: store)
            _ = try await store.collect(maximumSize: 0)
            #expect(try await lease.evictedBytes() == [Self.key("a"): 50_000])
            #expect(try await other.evictedBytes() == [Self.key("a"): 150_000])
            // A planted value neither overflows nor stops the collector.
            try folder.sql("UPDATE queued SET evicted = 9223372036854775807")
            try await CollectorTests.put("a", 50_000, into: store)
            #expect(try await store.collect(maximumSize: 0).removed.count == 1)
            #expect(try await other.evictedBytes()[Self.key("a")] ?? 0 > 1 << 59)
            other.close()
        }
    }

    @Test("A task's mark counts while any copy of it exists, in this process or another; its entry goes last")
    func sign() async throws {
        try await Self.withStore { store, _, folder in
            let transfer = try await store.begin(Self.key("a"))
            var signs = [await transfer.pausedSign, await transfer.pausedSign]
            #expect(signs.allSatisfy { $0 != nil })
            try await transfer.close()
            try folder.sql("UPDATE download SET used_at = (SELECT min(used_at) FROM download) - 1 WHERE key LIKE '%a'")
            let other = try await DownloadStore.open(at: folder["store"])
            for _ in 0..<2 {
                let dry = try await other.collect(maximumSize: 0, dryRun: true)
                #expect(dry.removed.map(\.key) == ["b", "c", "d", "a"].map(Self.key))
                #expect(dry.removed.last?.reason.code.rawValue == "paused-over-budget")
                signs.removeLast()
            }
            let report = try await other.collect(maximumSize: 300_000)
            #expect(report.removed.map(\.key) == [Self.key("a")])
            #expect(report.removed.map(\.reason.code.rawValue) == ["over-budget"])
            await other.close()
        }
    }

    /// The keys to be removed out of 900, by number: first those in no queue, then the queued ones except the last
    /// nine.
    private static var expectedOfMany: [String] {
        let numbers: [Int] = Array(1...900)
        let free: [Int] = numbers.filter { !$0.isMultiple(of: 3) }
        let queued: [Int] = numbers.filter { $0.isMultiple(of: 3) && $0 != 450 }
        return (free + queued.dropLast(9)).map { "key\($0)" }
    }

    @Test("More entries than fit in a batch: each is examined once, in order, paused ones last")
    func many() async throws {
        try await DownloadStore.with { store, folder in
            let lease = try await store.jobTable(named: "queue", isShared: false)
            // All with the same time. Every third is queued, and one in the middle is pinned.
            try folder.sql(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
                INSERT INTO download (key, url, generation, created_at, used_at, boot_id, pinned, received)
                SELECT 'key' || i, 'http://127.0.0.1/' || i, 1, i, i / 600, 'x', i = 450, 10 FROM n;
                INSERT INTO chunk (download, first_byte, path, received, generation)
                SELECT id, 0, printf('blobs/%032x', id), 10, 1 FROM download;
                UPDATE store SET entries = 900, received = 9000;
                INSERT INTO queued (queue, key, url, destination, state, priority, forced, position)
                SELECT 1, key, url, '/' || key, 'paused', 0, 0, 0 FROM download WHERE id % 3 = 0;
                """)
            for number in 1...900 {
                let name = String(number, radix: 16)
                try Files.write([0], to: folder["store/blobs/\(String(repeating: "0", count: 32 - name.count))\(name)"])
            }
            let dry = try await store.collect(maximumSize: 100, maximumAge: .seconds(Int64.max), dryRun: true)
            let report = try await store.collect(maximumSize: 100, maximumAge: .seconds(Int64.max))
            #expect(report.removed.map(\.key) == dry.removed.map(\.key) && report.removed.count == 890)
            #expect(report.removed.map(\.key) == Self.expectedOfMany)
            #expect(try await store.totals() == Totals(entries: 10, receivedBytes: 100))
            #expect(report.pinned.isEmpty)
            #expect(try await store.collect(maximumSize: 0, maximumAge: .seconds(Int64.max)).pinned == ["key450"])
            lease.close()
        }
    }
}
