import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeMigrations
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OpeningTests {
    @Temporary private var folder

    @Test("The advice of an error is separated from its message before a path is put in, which may contain the mark")
    func advice() {
        let error = StoreError(.notAStore, Reason("other-owner", with: "/a || b%", 1, 2), remedy: .shareStore)
        #expect(error.message == "/a || b% belongs to another user (number 1, not 2)")
        #expect(
            error.description == "\(error.message). Run this program as that user. "
                + StoreError.Remedy.shareStore.text)
        let other = StoreError(.notAStore, Reason("other-writers", with: "/a", "'b || c'", "777", ""))
        #expect(
            other.description
                == "other users may write to /a. Run 'chmod -R go-w 'b || c'': the permissions are 777.")
    }

    @Test("A store is private whatever the umask, and inspection does not create one")
    func permissions() async throws {
        await #expect(throws: StoreError(.noStore, "")) {
            _ = try await DownloadStore.open(at: folder["store"], creating: false)
        }
        #expect(!Files.exists(folder["store"]))
        let store = try await DownloadStore.open(at: folder["parents/made/store"])
        let transfer = try await store.begin("http://127.0.0.1/a")
        try await HonestServer(sampleBytes(100)).fill(transfer, upTo: 50)
        let path = folder["parents/made/store"]
        #expect(try Files.mode(path) == 0o700)
        #expect(try Files.mode("\(path)/blobs") == 0o700)
        for name in try Files.names(in: path) where name != "blobs" {
            #expect(try Files.mode("\(path)/\(name)") == 0o600, "\(name)")
        }
        for name in try Files.names(in: "\(path)/blobs") {
            #expect(try Files.mode("\(path)/blobs/\(name)") == 0o600)
        }
    }

    @Test("The compiled-in migrations are the files of the folder, in the order of their numbers")
    func migrations() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../Migrations")
        let files = try Files.names(in: folder.standardizedFileURL.path).filter { $0.hasSuffix(".sql") }
        #expect(Set(files) == Set(Migration.all.map { "\($0.name).sql" }))
        let versions = Migration.all.map(\.version)
        #expect(versions == Set(versions).sorted() && versions.first == 1 && versions.count == files.count)
        for migration in Migration.all {
            let text = try Files.bytes(folder.appendingPathComponent("\(migration.name).sql").path)
            #expect(String(decoding: text, as: UTF8.self) == migration.sql)
            #expect(migration.name.hasPrefix("V\(migration.version)__"))
        }
    }

    @Test("A lost hash key is replaced once; stored data then needs the server's confirmation")
    func lostIdentityKey() async throws {
        let server = HonestServer(sampleBytes(300_000), etag: "\"v1\"")
        let first = try await DownloadStore.open(at: folder["store"])
        try await first.leave(300_000, of: server)
        await first.close()
        try folder.sql("UPDATE store SET identity_key = x'00';")
        let second = try await DownloadStore.open(at: folder["store"])
        let held = try await second.begin()
        #expect(await !held.isComplete)
        try await held.close()
        let key = second.identityKey
        await second.close()
        let third = try await DownloadStore.open(at: folder["store"])
        #expect(key.bytes.count == 32 && third.identityKey.bytes == key.bytes)
        await third.close()
    }

    @Test("The recorded digest is that of the schema that the migrations create")
    func digest() throws {
        let texts = try Schema.Texts.expected(at: Schema.version)
        #expect(texts.digest == Migration.digest)
        #expect(try texts.digest != Schema.Texts.expected(at: Schema.version - 1).digest)
    }

    @Test("A database of the first release is migrated, and its partial continued")
    func firstRelease() async throws {
        let server = HonestServer(sampleBytes(300_000))
        let old = try await DownloadStore.open(at: folder["store"])
        try await old.leave(200_000, of: server)
        await old.close()
        // As the first migration alone left it.
        try folder.sql(
            """
            CREATE INDEX event_by_key ON event (key, id);
            DROP INDEX download_by_url;
            DROP INDEX download_by_destination;
            DROP INDEX download_by_received; DROP INDEX download_by_size; ALTER TABLE download DROP COLUMN size;
            ALTER TABLE download DROP COLUMN received;
            DROP TABLE delivered;
            DROP TABLE queued;
            DROP TABLE queue;
            DROP TABLE block;
            ALTER TABLE chunk DROP COLUMN generation;
            ALTER TABLE download DROP COLUMN selection;
            ALTER TABLE download DROP COLUMN content_coding;
            ALTER TABLE download DROP COLUMN gone_at;
            \(TemporaryFolder.withoutRequesters)
            ALTER TABLE download DROP COLUMN grows;
            ALTER TABLE download DROP COLUMN adopted;
            ALTER TABLE download DROP COLUMN resource; ALTER TABLE chunk DROP COLUMN mark;
            ALTER TABLE download DROP COLUMN seen;
            ALTER TABLE download DROP COLUMN closed;
            ALTER TABLE store DROP COLUMN identity_key;
            PRAGMA user_version = 1;
            """)
        let store = try await DownloadStore.open(at: folder["store"])
        let again = try await store.begin()
        #expect(await again.partial.length == 200_000)
        #expect(await again.plan().fields[.ifRange] == server.etag)
        try await again.close()
        await store.close()
        let version = try Connection.open(path: folder["store/store.sqlite"]).integer("PRAGMA user_version")
        #expect(version == Migration.all.last?.version)
    }

    /// Replaces a new store's database with one that earlier migrations made.
    static func makeStore(in folder: TemporaryFolder, at version: Int64, _ rows: String) async throws {
        await (try DownloadStore.open(at: folder["store"])).close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: folder["store/store.sqlite\(suffix)"])
        }
        try Files.write([], to: folder["store/store.sqlite"])
        let connection = try Connection.open(path: folder["store/store.sqlite"])
        try connection.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")
        for migration in Migration.all where migration.version <= version { try connection.execute(migration.sql) }
        try connection.execute("PRAGMA user_version = \(version); PRAGMA application_id = \(0x5253_554D); \(rows)")
    }

    @Test("A database of every earlier version is migrated", arguments: Migration.all.map(\.version))
    func earlier(version: Int64) async throws {
        try await Self.makeStore(in: folder, at: version, "")
        let store = try await DownloadStore.open(at: folder["store"])
        try await CollectorTests.put("a", 1000, into: store)
        #expect(try await store.diagnose().allSatisfy { $0.problem == nil || $0.name == "free_bytes" })
        await store.close()
        #expect(try folder.integer("PRAGMA user_version") == Migration.all.last?.version)
    }

    @Test(
        "A current schema under another version is not migrated, and a rebuild finds it", arguments: [5, 19] as [Int64])
    func wrongVersion(_ version: Int64) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        try await CollectorTests.put("a", 1000, into: store)
        await store.close()
        try folder.sql("\(Self.queuedRows) PRAGMA user_version = \(version)")
        await #expect(throws: StoreError.self) { try await DownloadStore.open(at: folder["store"]) }
        #expect(try folder.integer("SELECT count(*) FROM queued WHERE list = 0") == 2)
        #expect(try await !folder.rebuild().wasWhole)
        let rebuilt = try await DownloadStore.open(at: folder["store"])
        #expect(try await rebuilt.entries().count == 1)
        await rebuilt.close()
    }

    private static let queuedRows = """
        INSERT INTO queue (id, name) VALUES (3, 'queue');
        INSERT INTO queued (id, queue, key, url, destination, state, priority, forced, position, terms) VALUES
            (5, 3, 'http://127.0.0.1/a', 'http://127.0.0.1/a', '/a', 'paused', 1, 0, 7, '{}'),
            (6, 3, 'http://127.0.0.1/b', 'http://127.0.0.1/b', '/b', 'running', 0, 1, -7, NULL),
            (9, 3, 'http://127.0.0.1/c', 'http://127.0.0.1/c', '/c', 'waiting', 0, 0, 0, NULL);
        DELETE FROM queued WHERE id = 9;
        """

    /// A version that no release has written.
    private static let plantedRows = """
        PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF;
        INSERT INTO queued (id, queue, key, url, destination, state, priority, forced, position) VALUES
            (7, 3, 'lost', 'http://127.0.0.1/lost', '/lost', 'lost', 0, 0, 0),
            (8, 4, 'strange', 'http://127.0.0.1/strange', '/strange', 'waiting', 0, 0, 0);
        """

    @Test(
        "A queue of an earlier release is migrated with all its requests, and row numbers are not reused",
        arguments: [4, 5] as [Int64])
    func queued(version: Int64) async throws {
        try await Self.makeStore(in: folder, at: version, Self.queuedRows + Self.plantedRows)
        let store = try await DownloadStore.open(at: folder["store"])
        let queue = try await store.jobTable(named: "queue", isShared: false)
        let expected = [
            Job(
                id: 5, key: "http://127.0.0.1/a", url: "http://127.0.0.1/a", destination: "/a", state: .paused,
                priority: 1, isExclusive: false, position: 7, terms: "{}"),
            Job(
                id: 6, key: "http://127.0.0.1/b", url: "http://127.0.0.1/b", destination: "/b", state: .running,
                priority: 0, isExclusive: true, position: -7, terms: nil),
        ]
        #expect(try await queue.queued() == expected)
        var added = expected[0]
        (added.id, added.destination, added.state) = (0, "/d", .failed)
        added.failure = Reason(code: "status-404", text: "not: there")
        #expect(try await queue.record([added], removing: []) == [10])
        added.id = 10
        #expect(try await queue.queued().contains(added))
        queue.close()
        await store.close()
    }

    @Test("A damaged database of an earlier release keeps its queue in a rebuild", arguments: [4, 5] as [Int64])
    func queuedAndDamaged(version: Int64) async throws {
        try await Self.makeStore(in: folder, at: version, Self.queuedRows + "DROP TABLE event;")
        #expect(try await !folder.rebuild().wasWhole)
        let store = try await DownloadStore.open(at: folder["store"])
        let queue = try await store.jobTable(named: "queue", isShared: false)
        #expect(try await queue.queued().map(\.destination) == ["/a", "/b"])
        queue.close()
        await store.close()
    }

    @Test("A database of a newer release is refused and left as it is")
    func newer() async throws {
        await (try DownloadStore.open(at: folder["store"])).close()
        try folder.sql("PRAGMA user_version = 99; CREATE TABLE future (x)")
        await #expect(throws: StoreError(.newerStore, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
        let connection = try Connection.open(path: folder["store/store.sqlite"])
        #expect(try connection.integer("SELECT count(*) FROM future") == 0)
        #expect(try connection.integer("PRAGMA user_version") == 99)
    }

    @Test(
        "L07, T42: a planted trigger or view is refused",
        arguments: [
            "CREATE TRIGGER t AFTER INSERT ON event BEGIN DELETE FROM download; END",
            "CREATE VIEW v AS SELECT * FROM event",
        ])
    func planted(sql: String) async throws {
        await (try DownloadStore.open(at: folder["store"])).close()
        // The store's own connections cannot: views and triggers are disabled on them.
        try await Shell.run("sqlite3", folder["store/store.sqlite"], sql)
        await #expect(throws: StoreError(.notAStore, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
    }

    @Test("A symbolic link above the store's folder is followed, one in its place is not")
    func links() async throws {
        try await Shell.run("mkdir", folder["real"])
        try await Shell.run("ln", "-s", folder["real"], folder["link"])
        let store = try await DownloadStore.open(at: folder["link/store"])
        try await store.leave(200_000, of: HonestServer(sampleBytes(300_000)))
        await store.close()
        let same = try await DownloadStore.open(at: folder["real/store"])
        #expect(try await same.entries().map(\.receivedBytes) == [200_000])
        await same.close()
        try await Shell.run("ln", "-s", folder["real/store"], folder["other"])
        await #expect(throws: StoreError(.notAStore, "")) { _ = try await DownloadStore.open(at: folder["other"]) }
    }

    @Test("Another program's database is refused and left as it is")
    func foreign() async throws {
        try await Shell.run("mkdir", folder["store"])
        try await Shell.run(
            "sqlite3", folder["store/store.sqlite"], "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        await #expect(throws: StoreError(.notAStore, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
        #expect(try await Shell.run("sqlite3", folder["store/store.sqlite"], "SELECT x FROM theirs") == "1\n")
    }

    @Test("A damaged database is reported with advice, never erased")
    func damaged() async throws {
        let path = folder["store/store.sqlite"]
        await (try DownloadStore.open(at: folder["store"])).close()
        let junk = sampleBytes(20_000)
        try Files.write(junk, to: path)
        try? FileManager.default.removeItem(atPath: path + "-wal")
        let error = await #expect(throws: StoreError(.damaged, "")) {
            _ = try await DownloadStore.open(at: folder["store"])
        }
        #expect(error?.advice.isEmpty == false)
        #expect(try Files.bytes(path) == junk)
    }

    @Test(
        "L07, T41: a FIFO, link, folder or device in place of a file is refused without a hang",
        arguments: [
            ["mkfifo"], ["ln", "-s", "/etc/passwd"], ["mkdir"], ["ln", "-s", "/dev/zero"],
        ])
    func wrongKind(command: [String]) async throws {
        for name in ["store.sqlite", "lock", "leases"] {
            try await TemporaryFolder.with { folder in
                await (try DownloadStore.open(at: folder["store"])).close()
                let path = folder["store/\(name)"]
                // The lease file exists only after a download.
                try? FileManager.default.removeItem(atPath: path)
                let outcome = try await Shell.outcome(command[0], Array(command.dropFirst()) + [path])
                #expect(outcome.status == 0)
                await #expect(throws: StoreError(.notAStore, "")) {
                    _ = try await DownloadStore.open(at: folder["store"])
                }
            }
        }
    }

    @Test("L06, T18: an unreadable row, or one that names a file elsewhere, is set aside; the others work")
    func badRow() async throws {
        try await DownloadStore.with { store, folder in
            for name in ["a", "b"] {
                try await store.leave(50_000, of: HonestServer(sampleBytes(100_000)), url: "http://127.0.0.1/\(name)")
            }
            try folder.sql(
                """
                UPDATE chunk SET received = 9223372036854775807, durable = 0, path = '../../etc/passwd'
                WHERE download = (SELECT id FROM download WHERE key LIKE '%/a')
                """)
            #expect(try await store.entries().count == 2)
            let bad = try await store.begin("http://127.0.0.1/a")
            #expect(await bad.partial.length == 0)
            try await bad.close()
            let good = try await store.begin("http://127.0.0.1/b")
            #expect(await good.partial.length == 50_000)
        }
    }
}
