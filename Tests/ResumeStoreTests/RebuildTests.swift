import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeMigrations
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// Rebuilding a damaged database: verified data is saved, everything else is set aside, and nothing is erased.
@Suite(.timeLimit(.minutes(10)))
struct RebuildTests {
    @Temporary private var folder
    private static let names = (1...6).map { "file\($0)" }
    private static let held = 300_000

    private static func server(_ name: String) -> HonestServer {
        HonestServer(sampleBytes(400_000, seed: UInt64(name.dropFirst(4)) ?? 0))
    }

    private static func url(_ name: String) -> String { "http://127.0.0.1/\(name)" }

    /// The files of a closed store with partials and all rows in the database file itself.
    ///
    /// Created once for all tests.
    private static let template = Task {
        try await DownloadStore.with { store, folder in
            for name in names {
                // Two blocks each.
                for end in [held / 2, held] {
                    let transfer = try await store.begin(url(name))
                    try await server(name).fill(transfer, upTo: end, piece: 50_000)
                    try await transfer.close()
                }
            }
            await store.close()
            let blobs = try folder.blobs().map { "blobs/\($0)" }
            return try (Files.names(in: folder["store"]).filter { $0 != "blobs" } + blobs).map { name in
                (name: name, bytes: try Files.bytes(folder["store/\(name)"]))
            }
        }
    }

    /// Makes a store with these files.
    private static func copyStore(to folder: TemporaryFolder) async throws {
        for path in [folder["store"], folder["store/blobs"]] {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
        for file in try await template.value {
            let path = folder["store/\(file.name)"]
            try FileManager.default.createDirectory(
                atPath: String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)]),
                withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try Files.write(file.bytes, to: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        }
    }

    private static func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: bytes)
        try file.close()
    }

    /// All blobs, in use or set aside.
    private static func blobs(_ folder: TemporaryFolder) throws -> Set<String> {
        var names = Set(try folder.blobs())
        for aside in try Files.names(in: folder["store"]) where aside.hasPrefix("aside-") {
            names.formUnion(try Files.names(in: folder["store/\(aside)"]).filter { !$0.hasPrefix("store.sqlite") })
        }
        return names
    }

    /// Downloads everything through the new database, and compares it with the server's files.
    private static func finish(_ folder: TemporaryFolder, expecting saved: [String]) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(Set(try await store.entries().map(\.key)) == Set(saved))
        #expect(try await store.verify().isEmpty)
        for name in names {
            let transfer = try await store.begin(url(name))
            if saved.contains(url(name)) { #expect(await transfer.receivedBytes > 0) }
            for _ in 0..<10 where await !transfer.isComplete { try await server(name).fill(transfer) }
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.matches(folder["out"], server(name).content), "\(name)")
        }
        await store.close()
    }

    @Test("Jobs keep their states, lists and files")
    func jobs() async throws {
        try await Self.copyStore(to: folder)
        let columns = "key, state, ended, list, attempts, position, file, failure"
        let rows = """
            INSERT INTO queue (id, name) VALUES (1, 'resumectl');
            INSERT INTO queued (queue, url, destination, priority, forced, \(columns)) VALUES
                (1, 'u', '/a', 0, 0, 'a', 'waiting', NULL, 5, 0, 1, NULL, NULL),
                (1, 'u', '/b', 0, 0, 'b', 'failed', 'done', 5, 1, 2, '1 2 3/4/5/0 - - - - - -', NULL),
                (1, 'u', '/c', 0, 0, 'c', 'failed', 'cancelled', 5, 2, 3, NULL, 'cancelled: it was cancelled'),
                (1, 'u', '/d', 0, 0, 'd', 'failed', NULL, 6, 3, 4, NULL, 'status-404: not there'),
                (1, 'u', '/e', 0, 0, 'e', 'paused', NULL, 0, 0, 5, NULL, NULL);
            """
        let read = {
            try await Shell.run("sqlite3", folder["store/store.sqlite"], "SELECT \(columns) FROM queued ORDER BY id")
        }
        _ = try await Shell.run("sqlite3", folder["store/store.sqlite"], rows)
        let before = try await read()
        _ = try await Shell.run("sqlite3", folder["store/store.sqlite"], "CREATE TABLE planted (x)")
        #expect(try await folder.rebuild().asideFolder != nil)
        #expect(try await read() == before)
    }

    @Test("An intact database is left unchanged")
    func whole() async throws {
        try await Self.copyStore(to: folder)
        let before = try Files.bytes(folder["store/store.sqlite"])
        let report = try await folder.rebuild()
        #expect(report.wasWhole && report.asideFolder == nil)
        #expect(try Files.bytes(folder["store/store.sqlite"]) == before)
    }

    @Test("A damaged database of an older release that cannot be migrated is read as far as it has columns")
    func olderRelease() async throws {
        try await Self.copyStore(to: folder)
        // As the first four migrations left it.
        try folder.sql(
            """
            \(TemporaryFolder.withoutRequesters)
            ALTER TABLE store DROP COLUMN identity_key;
            PRAGMA user_version = 4;
            CREATE VIEW planted AS SELECT 1;
            PRAGMA wal_checkpoint(TRUNCATE);
            """)
        #expect(try await Set(folder.rebuild().saved) == Set(Self.names.map(Self.url)))
        try await Self.finish(folder, expecting: Self.names.map(Self.url))
    }

    @Test(
        "With any page of the database destroyed, no byte is wrong, no blob is lost and no entry is forgotten",
        arguments: 0..<20)
    func page(number: Int) async throws {
        try await Self.copyStore(to: folder)
        let database = folder["store/store.sqlite"]
        guard try Files.bytes(database).count > number * 4096 else { return }
        try Self.overwrite(database, at: number * 4096, with: [UInt8](repeating: 0xA5, count: 4096))
        let before = try Self.blobs(folder)
        let report = try await folder.rebuild()
        #expect(try Self.blobs(folder) == before)
        #expect(report.savedBytes <= Int64(report.saved.count * Self.held))
        let named = (report.saved + report.lost).sorted()
        #expect(named == Self.names.map(Self.url))
        #expect(try Files.names(in: folder["store"]).allSatisfy { !$0.hasPrefix("salvage") })
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("Without its first page, a database is read from the known first page of each table, with its log")
    func firstPage() async throws {
        try await Self.copyStore(to: folder)
        let store = try await DownloadStore.open(at: folder["store"])
        let transfer = try await store.begin("http://127.0.0.1/file7")
        try await Self.server("file7").fill(transfer, upTo: Self.held)
        // As a power loss leaves it.
        try FileManager.default.copyItem(atPath: folder["store"], toPath: folder["dead"])
        try await transfer.close()
        await store.close()
        try Self.overwrite(folder["dead/store.sqlite"], at: 0, with: [UInt8](repeating: 0, count: 4096))
        let report = try await DownloadStore.rebuild(at: folder["dead"])
        #expect(report.saved.count == 7 && report.lost.isEmpty)
        #expect(report.savedBytes == Int64(7 * Self.held))
        for file in try Files.names(in: folder["dead"]) {
            #expect(!file.hasPrefix("salvage"))
        }
    }

    @Test("With any byte of the header changed, a rebuild yields a writable store with all entries")
    func header() async throws {
        // Header bytes that mark the database as another program's, or a later release's, are believed.
        for offset in 0..<100 where !(60..<64).contains(offset) && !(68..<72).contains(offset) {
            try await TemporaryFolder.with { folder in
                try await Self.copyStore(to: folder)
                try Self.overwrite(folder["store/store.sqlite"], at: offset, with: [0xA5])
                let report = try await folder.rebuild()
                #expect(report.wasWhole || report.saved.count == Self.names.count, "\(offset)")
                let store = try await DownloadStore.open(at: folder["store"])
                for name in Self.names {
                    #expect(try await store.setPinned(true, for: Self.url(name)), "\(offset)")
                }
                await store.close()
            }
        }
    }

    @Test("Rows between two damaged pages are found by their keys")
    func betweenPages() async throws {
        try await Self.copyStore(to: folder)
        try folder.sql(
            """
            PRAGMA foreign_keys = OFF;
            UPDATE download SET id = id + 1000;
            UPDATE chunk SET download = download + 1000;
            UPDATE block SET download = download + 1000;
            WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 200)
            INSERT INTO download (id, key, url, created_at, used_at, boot_id)
            SELECT n, 'low ' || n, 'low' || hex(zeroblob(200)), 1, 1, '' FROM number
            UNION ALL SELECT n + 2000, 'high ' || n, 'high' || hex(zeroblob(200)), 1, 1, '' FROM number;
            PRAGMA wal_checkpoint(TRUNCATE);
            """)
        let database = folder["store/store.sqlite"]
        let bytes = try Files.bytes(database)
        for marker in ["low", "high"].map({ Array("\($0) 100\($0)".utf8) }) {
            // A leaf of a table, in which the URL follows the key.
            let leaf = try #require(
                stride(from: 4096, to: bytes.count, by: 4096).first { start in
                    bytes[start] == 0x0D && bytes[start..<start + 4096].contains(marker)
                })
            try Self.overwrite(database, at: leaf, with: [UInt8](repeating: 0, count: 4096))
        }
        let report = try await folder.rebuild()
        #expect(report.saved == Self.names.map(Self.url))
        #expect(report.lost.count == 400)
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("A changed letter in a column's name loses no validator")
    func columnName() async throws {
        try await Self.copyStore(to: folder)
        let database = folder["store/store.sqlite"]
        let bytes = try Files.bytes(database)
        let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("etag TEXT".utf8)) })
        try Self.overwrite(database, at: place + 3, with: Array("h".utf8))
        #expect(try await folder.rebuild().saved == Self.names.map(Self.url))
        let store = try await DownloadStore.open(at: folder["store"])
        let tags = try await store.entries().map(\.representation?.entityTag)
        await store.close()
        #expect(tags.count == Self.names.count && !tags.contains(nil))
    }

    @Test("A current first page leads to the rows of an older store, and does not invent a queue")
    func firstPageOfOlderRelease() async throws {
        try await Self.copyStore(to: folder)
        let database = folder["store/store.sqlite"]
        try Files.write([], to: folder["old.sqlite"])
        do {
            let old = try Connection.open(path: folder["old.sqlite"])
            try old.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL;")
            for migration in Migration.all.prefix(3) { try old.execute(migration.sql) }
            try old.execute("ATTACH '\(database)' AS new;")
            for table in ["download", "chunk", "block"] {
                let columns = try old.rows("SELECT name FROM pragma_table_info('\(table)')") { $0.text(0) ?? "" }
                    .joined(separator: ", ")
                try old.execute("INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM new.\(table);")
            }
            try old.execute(
                """
                WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 2000)
                INSERT INTO download (key, url, created_at, used_at, boot_id)
                SELECT 'key ' || n, hex(zeroblob(200)), 1, 1, '' FROM number;
                """)
        }
        try FileManager.default.removeItem(atPath: database)
        try FileManager.default.moveItem(atPath: folder["old.sqlite"], toPath: database)
        try Self.overwrite(database, at: 0, with: [UInt8](repeating: 0, count: 4096))
        let report = try await folder.rebuild()
        #expect(report.saved == Self.names.map(Self.url))
        #expect(report.lost.count == 2000)
        #expect(try folder.integer("SELECT count(*) FROM queue") == 0)
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("What an interrupted rebuild left is removed, even if the database is intact again")
    func leftover() async throws {
        try await Self.copyStore(to: folder)
        try Files.write([1], to: folder["store/salvage.sqlite"])
        #expect(try await folder.rebuild().wasWhole)
        #expect(try !Files.names(in: folder["store"]).contains("salvage.sqlite"))
    }

    /// The page at which each table and index begins.
    private static func roots(_ connection: borrowing Connection) throws -> [String: Int64] {
        let rows = try connection.rows("SELECT name, rootpage FROM sqlite_schema") { row in
            (row.text(0) ?? "", row.integer(1) ?? 0)
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    @Test(
        "Tables begin at the same pages in a new store and in one that was full before each migration",
        arguments: Migration.all.map(\.version))
    func roots(filledAt version: Int64) async throws {
        try await DownloadStore.with { store, folder in
            await store.close()
            let expected = try Self.roots(try Connection.open(path: folder["store/store.sqlite"]))
            try Files.write([], to: folder["old.sqlite"])
            let old = try Connection.open(path: folder["old.sqlite"])
            try old.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;")
            for migration in Migration.all {
                try old.execute(migration.sql)
                guard migration.version == version else { continue }
                try old.execute(
                    """
                    WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number LIMIT 2000)
                    INSERT INTO event (key, at, kind, reason)
                    SELECT hex(zeroblob(200)), n, 'k', 'r' FROM number;
                    """)
            }
            #expect(try Self.roots(old) == expected)
            #expect(try old.integer("PRAGMA page_count") ?? 0 > 200)
        }
    }

    @Test("Entries with missing rows, or missing part rows, are reported as lost", arguments: ["download", "chunk"])
    func rootPage(table: String) async throws {
        try await Self.copyStore(to: folder)
        let number = try folder.integer("SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'")
        let database = folder["store/store.sqlite"]
        try Self.overwrite(database, at: (Int(number) - 1) * 4096, with: [UInt8](repeating: 0, count: 4096))
        let report = try await folder.rebuild()
        #expect(report.saved.isEmpty && report.asideBlobs == Self.names.count)
        #expect(report.lost == Self.names.map(Self.url))
        try await Self.finish(folder, expecting: [])
    }

    @Test("Readable rows are saved: here all except those of one damaged page")
    func most() async throws {
        try await Self.copyStore(to: folder)
        // Checksums and parts are verified. An entry that fails is lost, and its blob is set aside.
        try folder.sql(
            "DELETE FROM block WHERE download IN (SELECT id FROM download ORDER BY id LIMIT 2); PRAGMA wal_checkpoint(TRUNCATE)"
        )
        try folder.sql("CREATE VIEW planted AS SELECT 1; PRAGMA wal_checkpoint(TRUNCATE)")
        let report = try await folder.rebuild()
        #expect(report.saved.count == 4 && report.lost.count == 2)
        #expect(report.savedBytes == Int64(4 * Self.held))
        #expect(report.asideBlobs == 2)
        let aside = try #require(report.asideFolder)
        #expect(Files.exists("\(aside)/store.sqlite"))
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("The records of delivered files are saved, by which a later run knows its own")
    func deliveredFiles() async throws {
        try await Self.copyStore(to: folder)
        try folder.sql(
            """
            INSERT INTO delivered (path, seen, url, file) VALUES ('/out/a', 1, 'http://127.0.0.1/a', '1000 5 7 - - -');
            CREATE VIEW planted AS SELECT 1; PRAGMA wal_checkpoint(TRUNCATE)
            """)
        _ = try await folder.rebuild()
        let known = "SELECT count(*) FROM delivered WHERE path = '/out/a' AND file LIKE '1000 5 %'"
        #expect(try folder.integer(known) == 1)
    }

    @Test("A damaged blob is saved without its damaged block")
    func damagedBlob() async throws {
        try await Self.copyStore(to: folder)
        for name in try folder.blobs() {
            try Self.overwrite(folder["store/blobs/\(name)"], at: 10, with: [1, 2, 3])
        }
        try folder.sql("DROP TABLE event; PRAGMA wal_checkpoint(TRUNCATE)")
        let report = try await folder.rebuild()
        #expect(report.savedBytes < Int64(report.saved.count * Self.held))
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("A database of zeros: everything is set aside, and the store works")
    func zeros() async throws {
        try await Self.copyStore(to: folder)
        let size = try Files.bytes(folder["store/store.sqlite"]).count
        try Files.write([UInt8](repeating: 0, count: size), to: folder["store/store.sqlite"])
        await #expect(throws: StoreError(.damaged, "")) { _ = try await DownloadStore.open(at: folder["store"]) }
        let report = try await folder.rebuild()
        #expect(report.saved.isEmpty && report.asideBlobs == Self.names.count)
        try await Self.finish(folder, expecting: [])
    }

    @Test("A store that is open, newer or another program's is not rebuilt")
    func refused() async throws {
        try await Self.copyStore(to: folder)
        let store = try await DownloadStore.open(at: folder["store"])
        let rebuild: @Sendable () async throws -> Void = {
            _ = try await folder.rebuild()
        }
        await #expect(throws: StoreError(.inUse, "")) { try await rebuild() }
        await store.close()
        try folder.sql("PRAGMA user_version = 99")
        await #expect(throws: StoreError(.newerStore, "")) { try await rebuild() }
        for name in try Files.names(in: folder["store"]) where name.hasPrefix("store.sqlite") {
            try FileManager.default.removeItem(atPath: folder["store/\(name)"])
        }
        try Files.write([], to: folder["store/store.sqlite"])
        try folder.sql("CREATE TABLE notes (x); PRAGMA user_version = 3; PRAGMA application_id = 7")
        await #expect(throws: StoreError(.notAStore, "")) { try await rebuild() }
        #expect(try Files.names(in: folder["store"]).allSatisfy { !$0.hasPrefix("aside-") })
    }

    @Test("A database that was emptied or has no readable schema is rebuilt", arguments: ["empty", "schema"])
    func unreadable(damage: String) async throws {
        try await Self.copyStore(to: folder)
        let database = folder["store/store.sqlite"]
        if damage == "empty" {
            try await Shell.run("truncate", "-s", "0", database)
            await #expect(throws: StoreError(.damaged, "")) {
                _ = try await DownloadStore.open(at: folder["store"])
            }
        } else {
            try Self.overwrite(database, at: 100, with: [UInt8](repeating: 0xA5, count: 8))
        }
        let before = try Self.blobs(folder)
        let report = try await folder.rebuild()
        #expect(!report.wasWhole && report.asideFolder != nil)
        #expect(try Self.blobs(folder) == before)
        #expect(report.saved == (damage == "empty" ? [] : Self.names.map(Self.url)))
        try await Self.finish(folder, expecting: report.saved)
    }

    @Test("A truncated data file is saved as far as its checksums reach")
    func shortBlob() async throws {
        try await Self.copyStore(to: folder)
        for name in try folder.blobs() {
            try await Shell.run("truncate", "-s", "\(Self.held - 1)", folder["store/blobs/\(name)"])
        }
        try Self.overwrite(folder["store/store.sqlite"], at: 0, with: [UInt8](repeating: 0, count: 16))
        let report = try await folder.rebuild()
        #expect(report.savedBytes == Int64(Self.names.count * Self.held / 2))
        try await Self.finish(folder, expecting: Self.names.map(Self.url))
    }
}
