import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Entries one by one.
@Suite(.timeLimit(.minutes(20)))
struct EntrySequenceTests {
    /// Makes entries whose values collide, in random places of every order.
    static let rows = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
        INSERT INTO download (key, url, generation, state, created_at, used_at, boot_id, complete_length, destination)
        SELECT 'key' || i, 'http://127.0.0.1/' || (i * 7919 % 400), 1, iif(i % 10 = 0, 'complete', 'partial'), i,
            i * 7919 % 97, 'x', iif(i % 3 = 0, NULL, i * 31 % 50 + 100), '/tmp/' || (i % 750) FROM n;
        INSERT INTO chunk (download, first_byte, path, received, generation)
        SELECT id, 0, printf('blobs/%032x', id), id * 17 % 60, 1 FROM download;
        UPDATE store SET entries = 1500, received = (SELECT sum(received) FROM chunk);
        """

    private static func withStore(_ body: (DownloadStore, TemporaryFolder) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            try folder.sql(rows + "UPDATE download SET received = id * 17 % 60")
            try await body(store, folder)
        }
    }

    private static func ids(_ query: EntryQuery, of store: DownloadStore) async throws -> [Int64] {
        var ids: [Int64] = []
        for try await entry in EntrySequence(of: store, matching: query) { ids.append(entry.id) }
        return ids
    }

    private static func isSorted(_ left: Entry, _ right: Entry, by order: EntryQuery.Order) -> Bool {
        let size: (Entry) -> Int64 = { $0.totalBytes ?? -1 }
        return switch order {
        case .use: (left.times.used, left.id) < (right.times.used, right.id)
        case .size: (size(left), left.id) < (size(right), right.id)
        case .received: (left.receivedBytes, left.id) < (right.receivedBytes, right.id)
        case .url: (left.url, left.id) < (right.url, right.id)
        default: left.id < right.id
        }
    }

    @Test(
        "Each order has all entries, forwards and backwards, also those with the same value",
        arguments: [EntryQuery.Order.use, .creation, .size, .received, .url])
    func order(_ order: EntryQuery.Order) async throws {
        try await Self.withStore { store, _ in
            let all = try await store.entries()
            #expect(all.count == 1500)
            let sorted = all.sorted { Self.isSorted($0, $1, by: order) }.map(\.id)
            #expect(try await Self.ids(EntryQuery(order: order), of: store) == sorted)
            #expect(try await Self.ids(EntryQuery(order: order, isReversed: true), of: store) == sorted.reversed())
        }
    }

    @Test("A query finds the entries in a state, and those that were not used since a time")
    func conditions() async throws {
        try await Self.withStore { store, _ in
            let all = try await store.entries()
            for order in [EntryQuery.Order.use, .size, .url] {
                let query = EntryQuery(order: order, state: .complete, usedBefore: 30)
                let chosen = all.filter { $0.state == .complete && $0.times.used < 30 }
                #expect(chosen.count > 20)
                let sorted = chosen.sorted { Self.isSorted($0, $1, by: order) }.map(\.id)
                #expect(try await Self.ids(query, of: store) == sorted)
            }
        }
    }

    @Test("Between two entries no transaction is open, so the log can be emptied; removed entries are not found")
    func changes() async throws {
        try await Self.withStore { store, folder in
            var iterator = EntrySequence(of: store, matching: EntryQuery(order: .creation)).makeAsyncIterator()
            #expect(try await iterator.next()?.id == 1)
            try folder.sql("DELETE FROM download WHERE id > 1000 AND id <= 1400")
            let connection = try Connection.open(path: folder["store/store.sqlite"])
            let result = try connection.first("PRAGMA wal_checkpoint(TRUNCATE)") { row in
                [row.integer(0), row.integer(1), row.integer(2)]
            }
            // Not busy, and no frames are left in the log.
            #expect(result == [0, 0, 0])
            var rest: [Int64] = []
            while let entry = try await iterator.next() { rest.append(entry.id) }
            #expect(rest == Array(2...1000) + Array(1401...1500))
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("A URL that is not valid UTF-8, and others that another program planted, end no iteration early or never")
    func plantedURLs() async throws {
        try await Self.withStore { store, folder in
            try folder.sql(
                """
                UPDATE download SET url = CAST(x'ff' || CAST(id AS BLOB) AS TEXT) WHERE id > 1000;
                UPDATE download SET url = CAST(x'00ff' AS TEXT) WHERE id < 400;
                """)
            #expect(try await Set(Self.ids(EntryQuery(order: .url), of: store)).count == 1500)
        }
    }

    @Test("The bytes of old entries are summed in batches after the migration, and the last batch is reported as such")
    func migration() async throws {
        try await TemporaryFolder.with { folder in
            try await OpeningTests.makeStore(in: folder, at: 10, Self.rows)
            let reports = Mutex<[[Int64]]>([])
            var configuration = DownloadStore.Configuration()
            configuration.onMigration = { converted, entries in reports.withLock { $0.append([converted, entries]) } }
            let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
            #expect(reports.withLock { $0 } == [[1500, 1500]])
            let filled = "SELECT count(*) FROM download WHERE received = id * 17 % 60"
            #expect(try folder.integer(filled) == 1500)
            #expect(try await store.verify().allSatisfy { $0.kind == .blobMissing || $0.kind == .notComplete })
            await store.close()
            // Interrupted before the indices were made, when half of the rows were filled.
            try folder.sql(
                """
                CREATE INDEX event_by_key ON event (key, id);
                DROP TABLE delivered;
                DROP INDEX download_by_url; DROP INDEX download_by_destination; DROP INDEX download_by_received;
                DROP INDEX download_by_size; ALTER TABLE download DROP COLUMN size;
                ALTER TABLE download DROP COLUMN adopted;
                ALTER TABLE download DROP COLUMN resource; ALTER TABLE chunk DROP COLUMN mark;
                ALTER TABLE download DROP COLUMN seen; ALTER TABLE download DROP COLUMN closed;
                PRAGMA user_version = 12;
                UPDATE download SET received = 0 WHERE id > 700;
                """)
            let again = try await DownloadStore.open(at: folder["store"])
            let total = try await again.totals().receivedBytes
            #expect(try folder.integer("SELECT sum(received) FROM download") == total && total > 0)
            await again.close()
        }
    }
}
