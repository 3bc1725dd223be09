import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import Testing

/// `verify`, and stores that are damaged or not ours.
@Suite(.timeLimit(.minutes(20)))
struct VerifyTests {
    private let home = Home()

    @Test("A file without a recorded digest is not an entry, and the error says what to type")
    func deliveredFile() async throws {
        let digest = Self.abc
        let server = try await home.serve {
            .file(Resource(Content("abc"), etag: "\"v1\""), for: $0)
        }
        let get = ["get", "-P", home.path]
        await home.run(get + [server.url("/one.bin"), "--sha256", digest]).expect(.success)
        await home.run(get + [server.url("/two.bin")]).expect(.success)
        try home.write([1], to: "three.bin")
        for name in ["one.bin", "two.bin", "three.bin"] {
            for options in name == "one.bin" ? [["--remote"]] : [[], ["--remote"]] {
                let outcome = await home.run(["verify", home[name]] + options)
                    .expect(.notFound, says: "\(home[name]) is a file, and no digest of it is recorded. ")
                #expect(outcome.errors.contains("'resumectl verify \(home[name]) --sha256 HEX'"), "\(outcome.errors)")
            }
        }
        await home.run("verify", home["four.bin"]).expect(.notFound, says: "there is no entry")
    }

    /// The digest of "abc".
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test("Part 6: a file is compared with the digest that is given, without a store")
    func givenDigest() async throws {
        try home.write("abc".utf8, to: "a.bin")
        let verify = ["verify", home["a.bin"], "--sha256"]
        await home.run(verify + [Self.abc]).expect(.success, prints: "\(home["a.bin"]): SHA-256 verified\n")
        let wrong = String(repeating: "0", count: 64)
        await home.run(verify + [wrong]).expect(.damaged, says: "1 file does not have", prints: "expected 000")
        let sha512 = try #require(HTTPDigest(.sha512, of: Array("abc".utf8)))
        let right = try await home.run("verify", home["a.bin"], "--sha512", sha512.hexadecimal, "--json").object
        #expect(right["right"]?.bool == true && right["path"]?.string == home["a.bin"])
        await home.run("verify", home["b.bin"], "--sha256", Self.abc).expect(.notFound, prints: "is not there")
        await home.run("verify", home["a.bin"]).expect(.notFound, says: "--sha256 HEX")
        await home.run("verify", home.path).expect(.notFound, says: "is a folder", "--checksums LIST")
        for options in [["x"], [Self.abc, "--repair"], [Self.abc, "--checksums", "x"]] {
            await home.run(verify + options).expect(.usage)
        }
        await home.run("verify", "--sha256", Self.abc).expect(.usage)
        #expect(!home.has("store"))
    }

    @Test("Part 6: of a folder, the files in the list are compared; a file without a line does not end the others")
    func folder() async throws {
        try home.makeFolder("f/below")
        try home.write("abc".utf8, to: "f/a.bin")
        try home.write("abc".utf8, to: "f/below/b.bin")
        try home.write("\(Self.abc)  a.bin\n\(Self.abc)  below/b.bin\n".utf8, to: "f/SUMS")
        let verify = ["verify", home["f"], "--checksums", home["f/SUMS"]]
        let right = await home.run(verify).expect(.success, hides: "SUMS")
        let verified: [String] = ["a.bin", "below/b.bin"].map { name in "\(home["f"])/\(name): SHA-256 verified" }
        #expect(right.lines == verified)
        try home.write("abd".utf8, to: "f/below/b.bin")
        try home.write([1], to: "other")
        var several = verify
        several.insert(contentsOf: [home["other"], home["none/a.bin"]], at: 1)
        let outcome = await home.run(several)
            .expect(.damaged, says: "1 file does not have", prints: "a.bin: SHA-256 verified", "a.bin: is not there")
        #expect(outcome.lines.count == 3, "\(outcome)")
        await home.run("verify", home["other"], "--checksums", home["f/SUMS"]).expect(.refused, says: "not compared")
        let sums = ["a.bin", "c", "d", "x/e", "y/f"].map { "\(Self.abc)  \($0)\n" }.joined()
        try home.write(sums.utf8, to: "sums")
        await home.run("verify", home["f"], "--checksums", home["sums"])
            .expect(.notFound, says: "4 files of \(home["sums"]) are not in \(home["f"]): c, d, x/e, …\n")
        try home.write("\(Self.abc)  a.bin\n\(Self.abc)  c\n".utf8, to: "sums")
        await home.run("verify", home["f"], "--checksums", home["sums"])
            .expect(.notFound, says: "1 file of \(home["sums"]) is not in \(home["f"]): c\n")
        await home.run("verify", home["nowhere"], "--checksums", home["f/SUMS"])
            .expect(.notFound, says: "\(home["nowhere"]): no such file or folder", hides: "contains no")
        await home.run("verify", "--checksums", home["f/SUMS"]).expect(.usage, says: "add . for this folder")
        await home.run("verify", home["f"], "--checksums", "http://127.0.0.1:9/SUMS")
            .expect(.usage, says: "verify needs no network: download the list first")
        await home.run("verify", home["f"], "--sha256", Self.abc).expect(.usage, says: "require one file")
        try home.makeFolder("empty")
        await home.run("verify", home["empty"], "--checksums", home["f/SUMS"]).expect(.notFound, says: "no files")
    }

    @Test("Part 6: a large file has a line of progress in a terminal, and none with --json")
    func largeFile() async throws {
        let bytes = [UInt8](repeating: 7, count: 70 << 20)
        try home.write(bytes, to: "large.bin")
        let digest = try #require(HTTPDigest(.sha256, of: bytes)).hexadecimal
        let verify = ["verify", home["large.bin"], "--sha256", digest]
        let outcome = await home.run(verify, width: 80).expect(.success, prints: "SHA-256 verified")
        #expect(outcome.errors.contains(#/large\.bin +\d+% /#), "\(outcome.errors)")
        #expect(await home.run(verify + ["--json"], width: 80).expect(.success).errors.isEmpty)
    }

    /// The one blob of the store, relative to it.
    private func blob() throws -> String {
        "store/blobs/" + (try #require(try home.names(in: "store/blobs").first))
    }

    @Test func allIsWell() async throws {
        let url = try await home.leavePartial()
        for arguments in [[], [url], ["--repair"]] {
            let outcome = await home.run(["verify"] + arguments).expect(.success)
            #expect(outcome.output == "no problems found\n")
        }
        let json = await home.run("verify", "--json").expect(.success)
        #expect(json.output.isEmpty && json.errors.isEmpty)
    }

    @Test func aMissingBlob() async throws {
        let url = try await home.leavePartial("a.bin")
        try home.remove(try blob())
        let other = try await home.leavePartial("b.bin")
        let outcome = await home.run("verify").expect(.damaged)
        #expect(outcome.output.hasPrefix("blob-missing: \(url): "))
        #expect(outcome.errors.contains("--repair"))
        let dry = await home.run("verify", "--repair", "--dry-run")
        #expect(dry.status == .damaged && dry.output == outcome.output && dry.errors == outcome.errors)
        let finding = try await home.run("verify", "--json").object
        #expect(finding.keys == ["detail", "key", "kind", "repaired"])
        #expect(finding["kind"]?.string == "blob-missing")
        #expect(finding["key"]?.string == url)
        #expect(finding["repaired"]?.bool == false)
        // Of the one that is asked for only.
        await home.run("verify", other).expect(.success)
        await home.run("verify", url, other).expect(.damaged)

        await home.run("verify", "--repair").expect(.success, prints: "(repaired)")
        await home.run("verify").expect(.success)
        #expect(try await home.held(url) == nil)
        #expect(try await home.held(other) == Sample.cut)
    }

    /// What is left of a blob that was cut is kept, and gone on from.
    @Test func aShortBlob() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        let bytes = try home.bytes(try blob())
        try home.write(bytes.prefix(150_000), to: try blob())
        #expect(try await home.run("verify", "--json").object["kind"]?.string == "blob-short")
        await home.run("verify", "--repair").expect(.success)
        #expect(try await home.held(server.url()) == 150_000)
        await home.run("verify").expect(.success)
        let outcome = await home.run(get + ["--json"])
        let resumed = try #require(try outcome.json.first)
        #expect(resumed["offset"]?.integer == 150_000)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }

    /// The damaged block goes, the rest stays, and the next download asks for that block and for what was missing.
    @Test func aChangedByte() async throws {
        let content = Content(length: 6_000_000, seed: 3)
        let resource = Resource(content, etag: "\"v1\"")
        let server = try await home.serve { request in
            .file(resource, for: request, cutAfter: request.number == 1 ? 5_000_000 : nil)
        }
        let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        var bytes = try home.bytes(try blob())
        try #require(bytes.count == 5_000_000)
        bytes[3_500_000] ^= 1
        try home.write(bytes, to: try blob())
        #expect(try await home.run("verify", "--json").object["kind"]?.string == "block-damaged")
        await home.run("verify", "--repair").expect(.success)
        let kept = try #require(try await home.held(server.url()))
        #expect(kept > 2_000_000 && kept < 5_000_000)
        await home.run("show", server.url()).expect(prints: "verify removed")
        let sent = server.bodyBytesSent
        let outcome = await home.run(get + ["--json"]).expect(.success)
        #expect(try outcome.json.last?["reusedBytes"]?.integer == kept)
        // One for the gap, compared at both ends, and one for the rest; or one, where no block behind the damaged
        // one was recorded. How long blocks are depends on when they were recorded.
        let count = server.requests.count - 1
        #expect(count == 1 || count == 2)
        #expect(server.bodyBytesSent - sent == 6_000_000 - kept + (count == 2 ? 3 : 1) * 4096)
        #expect(content.matches(try home.bytes("out.bin")))
    }

    @Test func orphansTotalsAndPaths() async throws {
        let url = try await home.leavePartial()
        try home.write([1, 2, 3], to: "store/blobs/" + String(repeating: "f", count: 32))
        try await home.sql("UPDATE store SET received = 7; UPDATE chunk SET path = '../../etc/passwd'")
        let kinds = try await home.run("verify", "--json").json.compactMap { $0["kind"]?.string }
        // The entry's own blob is an orphan as well, now that its row names another path.
        #expect(Set(kinds) == ["bad-path", "orphan", "totals"])
        await home.run("verify", "--repair").expect(.success)
        await home.run("verify").expect(.success)
        #expect(try await home.held(url) == nil)
        #expect(try home.names(in: "store/blobs").isEmpty)
    }

    @Test func whatIsInUseIsNotRepaired() async throws {
        _ = try await home.whileDownloading { url in
            try await home.sql("UPDATE download SET state = 'complete'")
            await home.run("verify", "--repair").expect(.damaged)
            #expect(try await home.held(url) == Sample.cut)
            try await home.sql("UPDATE download SET state = 'partial'")
        }
    }
}

/// Stores that are damaged, of another release, or no stores at all: refused, and left as they are.
@Suite(.timeLimit(.minutes(20)))
struct DamagedStoreTests {
    private let home = Home()

    /// Commands that need the store, which all say the same.
    private static let commands = [
        ["list"], ["list", "--json"], ["show", "key"], ["log"], ["stats"], ["verify"], ["verify", "--repair"], ["gc"],
        ["purge", "--all"], ["pin", "key"],
    ]

    /// Runs the commands and a download, all of which must be refused without a change or a request.
    private func expectRefusal(_ word: String) async throws {
        let before = try home.bytes("store/store.sqlite")
        for command in Self.commands {
            let outcome = await home.run(command).expect(.damaged)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.contains(word), "\(outcome.errors)")
        }
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out.bin"]).expect(.damaged)
        #expect(server.acceptedConnections == 0)
        await home.run("doctor").expect(.damaged, prints: word)
        #expect(try home.bytes("store/store.sqlite") == before)
    }

    @Test func notADatabase() async throws {
        try await home.leavePartial()
        try await home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        var bytes = try home.bytes("store/store.sqlite")
        for index in 0..<512 { bytes[index] = 0x58 }
        try home.write(bytes, to: "store/store.sqlite")
        try await expectRefusal("database")
    }

    @Test func damagedPages() async throws {
        try await home.leavePartial()
        try await home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        var bytes = try home.bytes("store/store.sqlite")
        for index in 4096..<bytes.count { bytes[index] = 0x58 }
        try home.write(bytes, to: "store/store.sqlite")
        for command in [["list"], ["stats"], ["verify"], ["log"]] {
            await home.run(command).expect(.damaged)
        }
    }

    /// Whoever reads that the database is damaged also reads what to do.
    @Test func adviceForADamagedDatabase() async throws {
        try await home.leavePartial()
        try await home.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        try home.write([UInt8](repeating: 0x58, count: 8192), to: "store/store.sqlite")
        await home.run("list").expect(.damaged, says: home.store)
    }

    @Test func aNewerRelease() async throws {
        try await home.leavePartial()
        try await home.sql("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)")
        try await expectRefusal("newer version")
    }

    @Test func anotherProgramsDatabase() async throws {
        try home.makeFolder("store/blobs")
        try await home.sql("CREATE TABLE notes (text)")
        try await expectRefusal("another program")
    }

    @Test func aPlantedTrigger() async throws {
        try await home.leavePartial()
        try await home.sql(
            """
            CREATE TRIGGER planted AFTER UPDATE ON download BEGIN UPDATE download SET url = 'http://evil/'; END;
            PRAGMA wal_checkpoint(TRUNCATE)
            """)
        try await expectRefusal("trigger")
    }

    @Test func aFileOrALinkInPlaceOfTheFolder() async throws {
        try home.write([1], to: "file")
        try home.makeFolder("elsewhere")
        try home.link("link", to: home["elsewhere"])
        for name in ["file", "link"] {
            await home.run("list", "--store", home[name]).expect(.damaged)
            await home.run("get", "http://127.0.0.1:9/a", "-o", home["a"], "--store", home[name]).expect(.damaged)
        }
        #expect(try home.names() == ["elsewhere", "file", "link"])
        #expect(try home.names(in: "elsewhere").isEmpty)
    }

    /// What a rebuild saved and lost, for people and for programs.
    @Test(arguments: [false, true])
    func rebuilt(isLost: Bool) async throws {
        let urls = [try await home.leavePartial("a.bin"), try await home.leavePartial("b.bin")]
        try await home.sql("DROP TABLE event; PRAGMA wal_checkpoint(TRUNCATE)")
        if isLost {
            for name in try home.names(in: "store/blobs") { try home.remove("store/blobs/\(name)") }
        }
        let text = await home.run("doctor", "--rebuild").expect(.success)
        for url in urls { #expect(text.output.contains("\(isLost ? "lost" : "recovered"): \(url)"), "\(text.output)") }
        #expect(text.output.contains(isLost ? "no entry could be recovered" : "2 entries recovered"), "\(text.output)")
        if isLost { return }
        let whole = try await home.run("doctor", "--rebuild", "--json").object
        #expect(whole.keys == ["aside", "asideBlobs", "lost", "repaired", "saved", "savedBytes", "wasWhole"])
        #expect(whole["wasWhole"]?.bool == true)
        try await home.sql("DROP TABLE event; PRAGMA wal_checkpoint(TRUNCATE)")
        let report = try await home.run("doctor", "--rebuild", "--json").object
        #expect(report["wasWhole"]?.bool == false)
        #expect(report["saved"]?.array?.compactMap(\.string).sorted() == urls.sorted())
        #expect(report["lost"]?.array?.isEmpty == true)
    }
}
