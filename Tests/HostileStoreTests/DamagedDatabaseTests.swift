import Foundation
import OriginServer
import ResumeMigrations
import TestSupport
import Testing

/// Databases that were truncated, zeroed, overwritten, exchanged or altered.
@Suite(.timeLimit(.minutes(20)))
struct DamagedDatabaseTests {
    /// Overwrites bytes of a file.
    private static func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        var all = try Files.bytes(path)
        let end = min(offset + bytes.count, all.count)
        if offset < end { all.replaceSubrange(offset..<end, with: bytes[..<(end - offset)]) }
        // In place, like a failing disk.
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.write(contentsOf: Data(all))
        try handle.close()
    }

    private static func size(_ path: String) throws -> Int { try Files.bytes(path).count }

    /// Damages a closed store, and expects each command to refuse it and leave the database unchanged.
    private static func refused(_ names: [String], _ damage: (Victim, String) async throws -> Void) async throws {
        try await Victim.each(names, .refused, damage: damage)
        for name in names {
            try await Victim.with { victim in
                try await damage(victim, name)
                let before = try Files.bytes(victim.database)
                let blobs = try Files.names(in: "\(victim.store)/blobs")
                for command in [["list"], ["gc", "--max-size", "0"], ["purge", "--all"], ["verify", "--repair"]] {
                    #expect(try await victim.run(command).status == 65, "\(name) \(command)")
                }
                #expect(try Files.bytes(victim.database) == before, "\(name)")
                #expect(try Files.names(in: "\(victim.store)/blobs") == blobs, "\(name)")
            }
        }
    }

    @Test("Truncated: to nothing, within the header, at and between pages")
    func cut() async throws {
        try await Self.refused(["0", "1", "100", "4095", "4096", "4097", "10001", "-4096"]) { victim, name in
            let wanted = try #require(Int(name))
            let length = wanted < 0 ? try Self.size(victim.database) + wanted : wanted
            try await Shell.run("truncate", "-s", "\(length)", victim.database)
        }
    }

    @Test("Zeros, junk and text in place of the database or of its first page")
    func overwritten() async throws {
        try await Self.refused(["zeros", "page 1", "junk", "text", "header", "write version"]) { victim, name in
            let size = try Self.size(victim.database)
            switch name {
            case "zeros": try Self.overwrite(victim.database, at: 0, with: Array(repeating: 0, count: size))
            case "page 1": try Self.overwrite(victim.database, at: 100, with: sampleBytes(3996))
            case "junk": try Files.write(sampleBytes(20_000), to: victim.database)
            case "text": try Files.write(Array("garbage\n".utf8), to: victim.database)
            // SQLite then only reads it.
            case "write version": try Self.overwrite(victim.database, at: 18, with: [3])
            default: try Self.overwrite(victim.database, at: 16, with: [0x03, 0x01])
            }
            try? FileManager.default.removeItem(atPath: victim.database + "-wal")
        }
    }

    @Test("Garbage in a folder without blobs is a damaged store, not a missing one")
    func garbageAlone() async throws {
        try await Victim.with { victim in
            try FileManager.default.removeItem(atPath: victim.store)
            try await Shell.run("mkdir", victim.store)
            try Files.write(Array("garbage\n".utf8), to: victim.database)
            for command in [
                ["list"], ["show", "a"], ["stats"], ["log"], ["verify"], ["gc"], ["pin", "a"], ["doctor"],
            ] {
                #expect(try await victim.run(command).status == 65, "\(command)")
            }
        }
    }

    @Test("Another program's database, a newer one, and versions that do not fit the tables")
    func exchanged() async throws {
        let versions = ["99", "-1", "0", "1", "2147483647"].map { "PRAGMA user_version = \($0)" }
        try await Self.refused(versions + ["PRAGMA application_id = 7"]) { victim, statement in
            try await victim.sql(statement)
        }
        try await Self.refused(["its log", "its file"]) { victim, name in
            let theirs = victim.folder["theirs-\(name.count)"]
            // Killed, so that the log stays.
            let script = "PRAGMA journal_mode = WAL; CREATE TABLE x (y); INSERT INTO x VALUES (randomblob(50000));"
            try await Shell.run(
                "sh", "-c", "sqlite3 '\(theirs)' '\(script)' '.shell cp \(theirs)-wal \(theirs).log'")
            let isLog = name == "its log"
            try? FileManager.default.removeItem(atPath: isLog ? victim.database + "-wal" : victim.database)
            try await Shell.run(
                "cp", isLog ? "\(theirs).log" : theirs, isLog ? victim.database + "-wal" : victim.database)
        }
    }

    @Test("A planted or altered schema: tables, columns, indices, checks, kinds of tables")
    func schema() async throws {
        let texts = "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, "
        let statements = [
            "DROP TABLE event", "DROP TABLE chunk", "PRAGMA foreign_keys = OFF; DROP TABLE download",
            "DROP TABLE store",
            "ALTER TABLE download DROP COLUMN gone_at", "ALTER TABLE download ADD COLUMN evil TEXT",
            "ALTER TABLE event RENAME TO happening", "ALTER TABLE download RENAME COLUMN etag TO tag",
            "CREATE TABLE evil (x)", "CREATE VIRTUAL TABLE evil USING fts5(x)", "CREATE VIEW evil AS SELECT 1",
            "CREATE TRIGGER evil AFTER INSERT ON event BEGIN DELETE FROM download; END",
            "CREATE INDEX evil ON download (lower(key))", "CREATE UNIQUE INDEX evil ON event (kind) WHERE 0",
            "DROP INDEX chunk_by_path", "CREATE INDEX chunk_by_use ON chunk (path)",
            texts + "'CHECK (received >= 0)', '') WHERE name = 'chunk'", texts + "'STRICT', '') WHERE name = 'event'",
            texts + "'ON DELETE CASCADE', '') WHERE name = 'chunk'",
            texts + "'partial', 'par tial') WHERE name = 'download'",
            texts + "'etag TEXT', 'etag INTEGER') WHERE name = 'download'",
        ]
        try await Self.refused(statements) { victim, statement in try await victim.sql(statement) }
    }

    @Test("White space in the schema and the tables of ANALYZE do no harm")
    func unharmedSchema() async throws {
        let text = "replace(replace(sql, ' (', char(10) || '  ('), ', ', ',')"
        let statements = [
            "ANALYZE",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = \(text) WHERE name LIKE 'event%'",
        ]
        try await Victim.each(statements, .unharmed) { victim, statement in
            let schema = "SELECT name, sql FROM sqlite_schema"
            let before = try await victim.sql(schema)
            try await victim.sql(statement)
            #expect(try await victim.sql(schema) != before, "\(statement)")
        }
    }

    @Test("A rollback journal, even a hot one, and garbage in log, index and journal cost nothing")
    func journals() async throws {
        let names = ["rollback", "hot", "-wal", "-shm", "-journal"]
        try await Victim.each(names, .unharmed) { victim, name in
            switch name {
            case "rollback": try await victim.sql("PRAGMA journal_mode = DELETE")
            case "hot": try await Self.leaveHotJournal(victim)
            default: try Files.write(sampleBytes(40_000), to: victim.database + name)
            }
        }
    }

    /// Leaves a database as a process leaves it that dies after writing half a transaction.
    private static func leaveHotJournal(_ victim: Victim) async throws {
        try await victim.sql("PRAGMA journal_mode = DELETE")
        let copy = victim.folder["copy"]
        try await Shell.run(
            "sqlite3", victim.database, "PRAGMA cache_size = 1", "BEGIN IMMEDIATE",
            "UPDATE event SET reason = reason || hex(randomblob(20000))",
            ".shell cp \(victim.database) \(copy); cp \(victim.database)-journal \(copy)-journal", "ROLLBACK")
        try await Shell.run("mv", copy, victim.database)
        try await Shell.run("mv", "\(copy)-journal", "\(victim.database)-journal")
        #expect(try Files.bytes("\(victim.database)-journal").count > 4096)
    }

    @Test("verify and doctor find a damaged page that the schema does not need")
    func innerPage() async throws {
        try await Victim.with { victim in
            // The map of pages.
            try Self.overwrite(victim.database, at: 4096, with: Array(repeating: 0, count: 4096))
            #expect(try await victim.run(["verify"]).status == 65)
            let doctor = try await victim.run(["doctor"])
            #expect(doctor.status == 65)
            #expect(doctor.output.contains("integrity: 1 problem   <- the database is damaged"), "\(doctor.output)")
        }
    }

    @Test("D3: verify --repair and doctor --rebuild restore a missing row of totals")
    func totalsRepaired() async throws {
        for repair in [["verify", "--repair"], ["doctor", "--rebuild"]] {
            try await Victim.with { victim in
                try await victim.sql("DELETE FROM store")
                #expect(try await victim.run(["verify"]).status == 65)
                #expect(try await victim.run(repair).status == 0)
                #expect(try await victim.run(["verify"]).status == 0, "\(repair)")
            }
        }
    }

    @Test("D3: a store with a wrong application number in its header is still a store: a rebuild works")
    func applicationNumber() async throws {
        try await Victim.with { victim in
            try Self.overwrite(victim.database, at: 68, with: [0x7F])
            #expect(try await victim.run(["list"]).status == 65)
            let rebuild = try await victim.run(["doctor", "--rebuild"])
            #expect(rebuild.status == 0 && rebuild.output.contains("2 entries recovered"), "\(rebuild)")
            #expect(try await victim.run(["verify"]).status == 0)
        }
    }

    @Test("D3: extreme sums do not prevent the repair of damaged entries")
    func sumsAndEntries() async throws {
        try await Victim.with { victim in
            try await victim.sql("UPDATE store SET received = -9223372036854775808")
            try await Shell.run("rm", try await victim.blob())
            #expect(try await victim.run(["verify", "--repair"]).status == 0)
            #expect(try await victim.run(["verify"]).status == 0)
        }
    }

    @Test("A store without its row of totals continues to work")
    func totals() async throws {
        try await Victim.each(["DELETE FROM store", "UPDATE store SET entries = 7, received = -1"], .found) {
            try await $0.sql($1)
        }
    }
}
