import OriginServer
@testable import ResumeCommands
import Synchronization
import Testing

/// `purge` and `gc`.
@Suite(.timeLimit(.minutes(20)))
struct PurgeTests {
    private let home = Home()

    private static let keysOfReport = ["dryRun", "freedBytes", "inUse", "orphanBytes", "orphans", "pinned", "removed"]

    /// The keys of all entries, sorted.
    private func keys() async throws -> [String] {
        try await home.run("list", "--json").json.compactMap { $0["key"]?.string }.sorted()
    }

    /// Leaves 50 000 bytes as `a`, unused for an hour, 100 000 as `b` and 200 000 as `c`.
    private func leaveThree() async throws {
        for (name, held) in [("a", 50_000), ("b", 100_000), ("c", 200_000)] as [(String, Int64)] {
            try await home.leavePartial("\(name).bin", held: held, options: ["--key", name])
        }
        try await home.sql("UPDATE download SET used_at = used_at - 3600000 WHERE key = 'a'")
    }

    private static let selections: [(arguments: [String], left: [String])] = [
        (["a", "c"], ["b"]),
        (["--all"], []),
        (["--older-than", "30m"], ["b", "c"]),
        (["--larger-than", "99999"], ["a"]),
        (["--larger-than", "100000"], ["a", "b"]),
        (["--match", "b"], ["a", "c"]),
        (["--match", "*/c.bin"], ["a", "b"]),
        (["--larger-than", "0", "--older-than", "30m"], ["b", "c"]),
        (["a", "b", "--larger-than", "60KB"], ["a", "c"]),
    ]

    @Test(arguments: selections.indices)
    func selection(index: Int) async throws {
        let (arguments, left) = Self.selections[index]
        try await leaveThree()
        await home.run(["purge", "--dry-run"] + arguments).expect(.success, prints: "would free")
        #expect(try await keys() == ["a", "b", "c"])
        await home.run(["purge"] + arguments).expect(.success, prints: "freed ")
        #expect(try await keys() == left)
        #expect(try home.names(in: "store/blobs").count == left.count)
    }

    @Test("A URL or key means all variants, the key of one only that")
    func variants() async throws {
        for (name, left) in [("a", ["b", "c"]), ("a#variant=2", ["a", "b", "c"])] {
            try await leaveThree()
            try await home.leavePartial("d.bin", held: 50_000, options: ["--key", "d"])
            try await home.sql("UPDATE download SET key = 'a#variant=2', variant = 2 WHERE key = 'd'")
            await home.run("purge", name).expect(.success)
            #expect(try await keys() == left)
            await home.run("purge", "--all").expect(.success)
        }
    }

    @Test func json() async throws {
        try await leaveThree()
        for isDry in [true, false] {
            let report = try await home.run(["purge", "b", "--json"] + (isDry ? ["--dry-run"] : [])).object
            #expect(report.keys == Self.keysOfReport)
            #expect(report["dryRun"]?.bool == isDry)
            #expect(report["freedBytes"]?.integer == 100_000)
            let removed = try #require(report["removed"]?.array)
            #expect(removed.map(\.keys) == [["bytes", "job", "key", "reason"]])
            #expect(removed.first?["key"]?.string == "b")
            #expect(removed.first?["reason"]?.string == "purged")
        }
    }

    @Test func nothingMatches() async throws {
        try await leaveThree()
        let selections = [
            ["d"], ["--match", "d*"], ["--older-than", "7d"], ["--larger-than", "1GiB"], ["a", "--match", "b"],
        ]
        for selection in selections {
            let outcome = await home.run(["purge"] + selection)
            let status = selection == ["d"] ? ExitStatus.refused : .success
            #expect(outcome.status == status, "\(selection)")
            #expect(outcome.errors.contains(selection == ["d"] ? "there is no entry d" : "no entry matches"))
            let json = await home.run(["purge", "--json"] + selection)
            #expect(json.status == status)
            #expect(try json.object["freedBytes"]?.integer == 0)
        }
        #expect(try await keys() == ["a", "b", "c"])
    }

    @Test("Of a delivered file there is nothing to remove, which is no failure")
    func delivered() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out"]).expect(.success)
        let outcome = await home.run("purge", home["out"])
        #expect(outcome.status == .success && outcome.output == "freed 0 B\n")
        let text = "\(home["out"]): was delivered, so the store keeps nothing of it and there is nothing to remove"
        #expect(outcome.errors == text + "; to remove the file, use rm\n")
        #expect(home.has("out"))
        await home.run("purge", home["out"], "mistyped").expect(.refused)
    }

    @Test("In a terminal, --all asks first")
    func asks() async throws {
        try await leaveThree()
        await home.run("pin", "a").expect(.success)
        let asked = Mutex<[String]>([])
        func purge(_ arguments: [String], _ answer: Bool) async -> Outcome {
            await home.run(
                ["purge"] + arguments,
                confirm: { question in
                    asked.withLock { $0.append(question) }
                    return answer
                })
        }
        let no = await purge(["--all"], false)
        #expect(no.status == .refused && no.output.isEmpty && no.errors == "resumectl: nothing was removed\n")
        #expect(asked.withLock { $0 } == ["Remove 2 entries with 293.0 KiB?"])
        #expect(try await keys() == ["a", "b", "c"])
        // Not about what the command line names, and not if nothing is removed.
        await purge(["--all", "--dry-run"], false).expect(.success)
        await purge(["b"], false).expect(.success)
        #expect(asked.withLock { $0.count } == 1)
        await purge(["--all"], true).expect(.success)
        #expect(try await keys() == ["a"])
        #expect(asked.withLock { $0.last } == "Remove 1 entry with 195.3 KiB?")
        await purge(["--all", "--include-pinned", "--yes"], false).expect(.success)
        #expect(try await keys().isEmpty)
        #expect(asked.withLock { $0.count } == 2)
    }

    @Test("Without a terminal, --all requires --yes for more than 100 entries", arguments: [100, 101])
    func many(count: Int) async throws {
        try await home.leavePartial(options: ["--key", "a"])
        try await home.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO download (key, url, created_at, used_at, boot_id)
            SELECT 'k' || i, url, created_at, used_at, boot_id FROM download, n WHERE key = 'a';
            """)
        #expect(try await keys().count == count)
        let outcome = await home.run("purge", "--all").expect(count > 100 ? .usage : .success)
        if count > 100 {
            #expect(outcome.errors.contains("--all would remove 101 entries with 195.3 KiB"), "\(outcome.errors)")
            #expect(outcome.errors.contains("--yes"))
            #expect(try await keys().count == count)
            await home.run("purge", "--all", "--dry-run").expect(.success)
            await home.run("purge", "--older-than", "0s", "--dry-run").expect(.success)
            await home.run("purge", "--all", "--yes").expect(.success)
        }
        #expect(try await keys().isEmpty)
    }

    @Test func allOfNothing() async throws {
        try await home.leavePartial()
        await home.run("purge", "--all").expect(.success)
        let outcome = await home.run("purge", "--all")
        #expect(outcome.status == .success && outcome.errors == "no entry matches\n")
    }

    @Test func oneOfSeveralKeysIsNotThere() async throws {
        try await leaveThree()
        let outcome = await home.run("purge", "a", "mistyped")
        #expect(try await keys() == ["b", "c"])
        #expect(outcome.errors.contains("mistyped"))
    }

    @Test func inUse() async throws {
        try await leaveThree()
        let outcome = try await home.whileDownloading { url async throws in
            await home.run("purge", "--all").expect(.success, prints: "in use, kept: \(url)")
            #expect(try await keys() == [url])
            let one = await home.run("purge", url, "--json").expect(.refused, says: "in use")
            #expect(try one.object["inUse"]?.array == [.string(url)])
            await home.run("gc", "--max-size", "0").expect(.success)
            #expect(try await home.held(url) == Sample.cut)
        }
        #expect(outcome.status == .interrupted)
    }

    @Test("A timer may run gc before there is a store")
    func gcWithoutStore() async throws {
        let outcome = await home.run("gc", "--quiet")
        #expect(outcome.status == .success && outcome.output.isEmpty && outcome.errors.isEmpty && !home.has("store"))
        #expect(await home.run("gc").output == "there is no store yet\n")
    }

    @Test func gcBySize() async throws {
        try await leaveThree()
        let dry = await home.run("gc", "--max-size", "200KB", "--dry-run").expect(.success)
        #expect(dry.output.contains("would remove a") && dry.output.contains("would remove b"))
        #expect(try await keys() == ["a", "b", "c"])
        let report = try await home.run("gc", "--max-size", "200KB", "--json").object
        #expect(report.keys == Self.keysOfReport)
        #expect(report["freedBytes"]?.integer == 150_000)
        #expect(report["removed"]?.array?.compactMap { $0["key"]?.string } == ["a", "b"])
        let reasons = report["removed"]?.array?.compactMap { $0["reason"]?.string }
        // Each was begun by `get` and is not done.
        #expect(reasons == ["job-over-budget", "job-over-budget"])
        #expect(report["removed"]?.array?.compactMap { $0["job"]?.string } == [home["a.bin"], home["b.bin"]])
        // Without a job, there is none to name.
        await home.run("forget", home["c.bin"]).expect(.success)
        let rest = try await home.run("gc", "--max-size", "0", "--dry-run", "--json").object
        #expect(rest["removed"]?.array?.map { $0["job"] } == [.null])
        #expect(try await keys() == ["c"])
        await home.run("log", "a").expect(prints: "evicted")
    }

    @Test("After a purge, jobs does not say that the bytes are kept")
    func purgedJob() async throws {
        let url = try await home.leavePartial()
        await home.run("jobs").expect(prints: "bytes received are kept")
        await home.run("purge", url).expect(.success)
        let line = await home.run("jobs").output
        #expect(line.contains("its 200000 bytes were removed: removed on request") && !line.contains("kept"), "\(line)")
        let job = try await home.run("jobs", "--json").object
        #expect(job["reason"]?.string == "purged" && job["message"]?.string?.contains("kept") == false, "\(job)")
        // It is no eviction, which the next run would report.
        let server = try await home.serve(Sample.whole)
        await home.run("resume", home["file.bin"], "--url", server.url()).expect(.success, hides: "removed")
    }

    @Test func gcByAge() async throws {
        try await leaveThree()
        let outcome = await home.run("gc", "--max-age", "30m").expect(.success)
        // Its job is not done.
        let path = home["a.bin"]
        let job =
            "\n  its download to \(path) starts over with 'resumectl resume'; 'resumectl forget \(path)' removes that, too"
        let removed = "removed a, 48.8 KiB: not used for longer than the maximum age\(job)\nfreed 48.8 KiB\n"
        #expect(outcome.output == "\(removed)limits: 16.0 GiB (default), not used for 30m0s (--max-age)\n")
        #expect(try await keys() == ["b", "c"])
        // Within its budget nothing is taken.
        let again = await home.run("gc").expect(.success)
        #expect(again.output == "freed 0 B\nlimits: 16.0 GiB (default), not used for 30d0h (default)\n")
        try home.write("store-max-size = 1GiB\nstore-max-age = 36h\n".utf8, to: "config")
        let set = await home.run(
            ["gc", "--max-size", "2GiB"],
            environment: ["RESUMECTL_STORE": home.store, "RESUMECTL_CONFIG": home["config"]])
        #expect(set.output.hasSuffix("\nlimits: 2.0 GiB (--max-size), not used for 1d12h (store-max-age)\n"))
        #expect(try await keys() == ["b", "c"])
    }

    @Test func gcOfOrphans() async throws {
        try await home.leavePartial()
        let orphan = "blobs/" + String(repeating: "0", count: 32)
        try home.write([UInt8](repeating: 1, count: 10_000), to: "store/\(orphan)")
        try home.write([1], to: "store/blobs/README")
        #expect(try await home.run("gc", "--dry-run", "--json").object["orphans"]?.array == [.string(orphan)])
        #expect(home.has("store/\(orphan)"))
        await home.run("gc").expect(prints: "removed \(orphan), which belongs to no entry")
        #expect(!home.has("store/\(orphan)"))
        // Whose name no blob has is not the store's.
        #expect(home.has("store/blobs/README"))
        #expect(try home.names(in: "store/blobs").count == 2)
    }

    @Test func gcOfAnEntryWithoutItsBlob() async throws {
        let url = try await home.leavePartial()
        for name in try home.names(in: "store/blobs") { try home.remove("store/blobs/\(name)") }
        let dry = await home.run("gc", "--dry-run")
        let outcome = await home.run("gc").expect(.success)
        #expect(try await home.held(url) == nil)
        #expect(dry.output.contains("would remove \(url)"))
        #expect(outcome.output.contains("removed \(url)"))
    }
}
