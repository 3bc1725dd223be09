import Foundation
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Paths and destinations in rows that lead outside.
@Suite(.timeLimit(.minutes(20)))
struct PlantedPathTests {
    @Test("One blob under two entries: the second download gets the bytes of its own file")
    func sharedBlob() async throws {
        let other = Content(length: 300_000, seed: 8)
        let otherBytes = other.bytes(in: other.all)
        // The same entity tag, so that only the bytes distinguish them.
        let handler: @Sendable (OriginRequest) -> Response = { request in
            .file(request.path == "/b" ? Resource(other, etag: "\"v1\"") : Victim.resource, for: request)
        }
        for first in ["a", "b"] {
            try await OriginServer.withServer(handler: handler) { server in
                try await Victim.with { victim in
                    try await victim.sql(
                        """
                        UPDATE chunk SET path = (SELECT path FROM chunk JOIN download ON id = download WHERE key = 'a')
                        """)
                    for key in first == "a" ? ["a", "b"] : ["b", "a"] {
                        let outcome = try await victim.run(
                            ["get", "\(server.baseURL)/\(key)", "--key", key, "-o", victim.folder[key], "--quiet"])
                        #expect(outcome.status == 0, "\(key): \(outcome.errors)")
                    }
                    let (a, b) = (try Files.bytes(victim.folder["a"]), try Files.bytes(victim.folder["b"]))
                    #expect(a == Victim.bytes)
                    #expect(b == otherBytes)
                    // The blob that no row names any more.
                    #expect(try await victim.run(["gc"]).status == 0)
                    #expect(try await victim.run(["verify"]).status == 0)
                }
            }
        }
    }

    @Test("A journal that makes SQLite remove another file is removed itself; the file stays")
    func superJournal() async throws {
        for command in [["list"], ["doctor"], ["doctor", "--rebuild"], ["purge", "b"]] {
            try await Victim.with { victim in
                try Self.plantSuperJournal(in: victim)
                let before = try victim.outside()
                _ = try await victim.run(command)
                #expect(try victim.outside() == before, "\(command)")
                #expect(!Files.exists("\(victim.database)-journal"), "\(command)")
                let shown = try await victim.run(["show", "a"])
                #expect(shown.status == 0, "\(command): \(shown.errors)")
            }
        }
    }

    /// Plants a journal that names the file outside, which SQLite would remove.
    private static func plantSuperJournal(in victim: Victim) throws {
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        func word(_ number: Int) -> [UInt8] { (0..<4).reversed().map { UInt8(number >> ($0 * 8) & 0xFF) } }
        // No records, a nonce, the pages of the database, the sizes of a sector and of a page.
        let pages = try Files.bytes(victim.database).count / 4096
        var journal = magic + [0, 0, 0, 0].flatMap(word).prefix(4) + word(1) + word(pages) + word(512) + word(4096)
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        let name = Array(victim.outsideFile.utf8)
        journal += word(0x4000_0000 / 4096 + 1) + name + word(name.count)
        journal += word(name.reduce(0) { $0 + Int($1) }) + magic
        try Files.write(journal, to: "\(victim.database)-journal")
    }

    @Test(
        "With planted marks of an interrupted rebuild, each file is checked before SQLite opens any",
        arguments: ["rebuilt.sqlite", "aside"], ["-shm", "-wal", "lock", "waiters", "database"])
    func rebuild(sign: String, planted: String) async throws {
        try await Victim.with { victim in
            if sign == "aside" {
                try await Shell.run("mkdir", "\(victim.store)/aside-1")
                try await Shell.run("ln", victim.database, "\(victim.store)/aside-1/store.sqlite")
            } else {
                try Files.write([], to: "\(victim.store)/\(sign)")
            }
            // The permissions of an empty one would be changed as well.
            let isLock = planted == "lock" || planted == "waiters"
            let outside = isLock ? victim.folder["empty"] : victim.outsideFile
            if isLock { try Files.write([], to: outside) }
            switch planted {
            case "database": try await Shell.run("ln", victim.database, victim.folder["second"])
            default:
                let path = planted.hasPrefix("-") ? victim.database + planted : "\(victim.store)/\(planted)"
                try? FileManager.default.removeItem(atPath: path)
                try await Shell.run("ln", outside, path)
            }
            let before = try (victim.outside(), Files.mode(outside), Files.bytes(outside))
            for command in [["list"], ["doctor"], ["doctor", "--rebuild"], ["doctor", "--rebuild"], ["gc"]] {
                let outcome = try await victim.run(command)
                #expect(outcome.status == 65, "\(command): \(outcome.errors)\(outcome.output)")
                #expect(try victim.outside() == before.0, "\(command)")
                #expect(try Files.mode(outside) == before.1, "\(command)")
                #expect(try Files.bytes(outside) == before.2, "\(command)")
            }
        }
    }

    @Test("A destination in a row is never written to, and nothing of that name is removed")
    func destination() async throws {
        try await OriginServer.withServer(handler: { .file(Victim.resource, for: $0) }) { server in
            for state in ["partial", "complete"] {
                try await Victim.with { victim in
                    for key in ["a", "b"] {
                        try await victim.sql(
                            """
                            UPDATE download SET destination = '\(victim.outsideFile)', state = '\(state)'
                            WHERE key = '\(key)'
                            """)
                    }
                    let before = try victim.outside()
                    for command in [["verify"], ["doctor"], ["gc"], ["gc", "--max-size", "250000"]] {
                        _ = try await victim.run(command)
                        #expect(try victim.outside() == before, "\(state) \(command)")
                    }
                    let url = "\(server.baseURL)/b"
                    let get = try await victim.run(["get", url, "--key", "b", "-o", victim.folder["out"], "--quiet"])
                    #expect(get.status == 0, "\(get.errors)")
                    #expect(try Files.bytes(victim.folder["out"]) == Victim.bytes)
                    _ = try await victim.run(["purge", "--all"])
                    #expect(try victim.outside() == before, "\(state)")
                }
            }
        }
    }
}
