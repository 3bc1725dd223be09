import OriginServer
@testable import ResumeCommands
import Testing

/// `log`, `stats`, `doctor`, `pin` and `unpin`.
@Suite(.timeLimit(.minutes(20)))
struct StoreReportTests {
    private let home = Home()

    @Test func log() async throws {
        let url = try await home.leavePartial("a.bin")
        let other = try await home.leavePartial("b.bin")
        let all = await home.run("log").expect(.success)
        #expect(all.lines.count == 4)
        #expect(all.output.contains(url) && all.output.contains(other))
        let time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ  (started|interrupted) .*/
        #expect(all.lines.allSatisfy { $0.wholeMatch(of: time) != nil }, "\(all.output)")
        let one = await home.run("log", url)
        #expect(one.lines.count == 2)
        #expect(!one.output.contains(other))
        let events = try await home.run("log", "--json", url).json
        #expect(events.allSatisfy { $0.keys == ["at", "bytes", "key", "kind", "message", "reason"] })
        #expect(events.allSatisfy { $0["key"]?.string == url })
        #expect(events.compactMap { $0["kind"]?.string } == ["started", "interrupted"])
        #expect(events.compactMap { $0["bytes"]?.integer } == [0, Sample.cut])
    }

    /// The log outlives the entry.
    @Test func logOfWhatIsGone() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["a.bin"]).expect(.success)
        let events = try await home.run("log", "--json", server.url("/file.bin", user: "me:secret")).json
        #expect(events.last?["kind"]?.string == "delivered")
        await home.run("log", server.url()).expect(prints: home["a.bin"])
        let url = try await home.leavePartial()
        await home.run("purge", url).expect(.success)
        await home.run("log", url).expect(prints: "purged")
    }

    @Test func logOfWhatIsNoURL() async throws {
        try await home.leavePartial()
        let outcome = await home.run("log", "no such key").expect(.success)
        #expect(outcome.errors == "no events of this entry are recorded\n")
    }

    @Test func stats() async throws {
        try await home.leavePartial("a.bin", held: 100_000)
        try await home.leavePartial("b.bin", held: 200_000)
        let stats = try await home.run("stats", "--json").object
        #expect(stats.keys == ["entries", "freeBytes", "path", "receivedBytes"])
        #expect(stats["entries"]?.integer == 2)
        #expect(stats["receivedBytes"]?.integer == 300_000)
        #expect(stats["path"]?.string == home.store)
        #expect((stats["freeBytes"]?.integer ?? 0) > 0)
        let text = await home.run("stats").expect(.success)
        #expect(text.lines.prefix(3) == ["store:   \(home.store)", "entries: 2", "stored:  293.0 KiB"])
    }

    @Test func doctor() async throws {
        try await home.leavePartial()
        let outcome = await home.run("doctor", "--json").expect(.success)
        let checks = try #require(try outcome.object["checks"]?.array)
        var values: [String: String] = [:]
        for check in checks {
            #expect(check.keys == ["name", "problem", "value"])
            #expect(check["problem"] == .null)
            values[check["name"]?.string ?? ""] = check["value"]?.string
        }
        #expect(values["store"] == home.store)
        #expect(values["journal_mode"] == "wal")
        #expect(values["wal_autocheckpoint"] == "0")
        #expect(values["trusted_schema"] == "0")
        #expect(values["foreign_keys"] == "1")
        #expect(values["entries"] == "1")
        #expect(values["locks"] == "work")
        #expect(values["sqlite"]?.firstMatch(of: /^3\.\d+\.\d+/) != nil)
        #expect(values["free_bytes"].flatMap(Int64.init) != nil)
        #expect(values.keys.contains { $0.contains("file") && $0.contains("system") })
        let text = await home.run("doctor").expect(.success)
        #expect(text.lines.count == checks.count)
        #expect(text.lines.contains("journal_mode: wal"))
    }

    @Test func doctorOfFolders() async throws {
        let outcome = await home.run("doctor", home.path, home["none"]).expect(
            .damaged, prints: "\(home["none"]): unusable")
        #expect(outcome.lines.contains { $0.hasPrefix("\(home.path): ") && !$0.contains("<-") }, "\(outcome.output)")
        #expect(try home.names().isEmpty)
    }

    @Test func doctorWithoutAStore() async throws {
        await home.run("doctor").expect(.success, prints: "there is no store yet")
        #expect(try home.names().isEmpty)
    }

    @Test func pinned() async throws {
        let url = try await home.leavePartial("a.bin")
        let other = try await home.leavePartial("b.bin")
        await home.run("pin", url).expect(.success)
        #expect(try await home.entry(url)?["pinned"]?.bool == true)
        await home.run("list").expect(prints: "[pinned]")
        // Twice is no mistake.
        await home.run("pin", url).expect(.success)
        await home.run("gc", "--max-size", "0").expect(.success)
        #expect(try await home.held(url) == Sample.cut)
        #expect(try await home.held(other) == nil)
        await home.run("unpin", url).expect(.success)
        await home.run("gc", "--max-size", "0").expect(.success)
        #expect(try await home.held(url) == nil)
    }

    @Test("purge keeps a pinned entry, and says so, unless pinned ones are included")
    func purgeOfWhatIsPinned() async throws {
        let url = try await home.leavePartial("a.bin")
        let other = try await home.leavePartial("b.bin")
        await home.run("pin", url).expect(.success)
        for selection in [[url], ["--match", "*a.bin"], ["--larger-than", "0", url]] {
            let outcome = await home.run(["purge"] + selection).expect(.refused)
            #expect(outcome.output == "pinned, kept: \(url)\nfreed 0 B\n")
            #expect(outcome.errors.contains("all matching entries are pinned; use --include-pinned to remove them"))
            #expect(try await home.held(url) == Sample.cut)
        }
        let all = try await home.run("purge", "--all", "--json").object
        #expect(all["pinned"]?.array == [.string(url)])
        #expect(all["removed"]?.array?.compactMap { $0["key"]?.string } == [other])
        await home.run("purge", "--all").expect(.refused)
        let dry = await home.run("purge", "--all", "--include-pinned", "--dry-run")
        #expect(dry.status == .success && dry.output.contains("would remove \(url)"))
        await home.run("purge", url, "--include-pinned").expect(.success)
        #expect(try await home.held(url) == nil)
    }
}
