import OriginServer
@testable import ResumeCommands
import Testing

/// `list` and `show`.
@Suite(.timeLimit(.minutes(20)))
struct ListTests {
    private let home = Home()

    /// The shape that the contract gives, with the values that are the same in each run.
    @Test func json() async throws {
        var resource = Sample.resource
        resource.lastModified = Resource.defaultLastModified
        let url = try await home.leavePartial(of: resource)
        try await home.sql("UPDATE chunk SET durable = 4096")
        let line = try #require(await home.run("list", "--json").lines.first)
        let time = #"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"#
        let shape =
            #"\{"chunks":\[\{"durable":4096,"length":200000,"offset":0,"path":"blobs/[0-9a-f]{2}/[0-9a-f]{32}"\}\],"#
            + #""contentCoding":null,"createdAt":"T","destination":"DEST","durableBytes":4096,"etag":"\\"v1\\"","#
            + #""goneAt":null,"inUse":false,"key":"URL","#
            + #""lastModified":"Mon, 04 Mar 2024 05:06:07 GMT","lastUsedAt":"T","pinned":false,"#
            + #""ranges":null,"receivedBytes":200000,"resumable":true,"state":"partial","#
            + #""suggestedFilename":null,"totalBytes":300000,"url":"URL","variant":1,"vary":null\}"#
        let pattern = shape.replacing("\"T\"", with: "\"\(time)\"").replacing("DEST", with: home["file.bin"])
            .replacing("URL", with: url)
        #expect(try Regex(pattern).wholeMatch(in: line) != nil, "\(line)")
    }

    @Test func jsonWithoutAValidatorAndALength() async throws {
        var resource = Resource(Sample.content)
        resource.framing = .chunked(size: 10_000)
        let url = try await home.leavePartial(of: resource)
        let entry = try #require(try await home.entry(url))
        #expect(entry["etag"] == .null)
        #expect(entry["lastModified"] == .null)
        #expect(entry["totalBytes"] == .null)
        #expect(entry["resumable"]?.bool == false)
        await home.run("list").expect(prints: "not resumable")
    }

    @Test func text() async throws {
        let url = try await home.leavePartial()
        let outcome = await home.run("list").expect(.success)
        #expect(outcome.errors.isEmpty)
        let line = try #require(outcome.lines.first)
        #expect(line.hasPrefix("partial   195.3 KiB of 293.0 KiB (66%)"))
        #expect(line.hasSuffix(url))
        await home.run("ls").expect(prints: url)
    }

    @Test("--format prints fields of each entry, named as in --json")
    func format() async throws {
        let url = try await home.leavePartial()
        let json = try await home.run("list", "--json").object
        let all = Set(json.keys).subtracting(["chunks"])
        await home.run("list", "--format", all.sorted().map { "{\($0)}" }.joined(separator: "|")).expect(.success)
        let line = await home.run("list", "--format", #"{receivedBytes}\t{url} {pinned}{goneAt}\\"#)
        #expect(line.output == "\(Sample.cut)\t\(url) false\\\n", "\(line.output)")
        for format in ["{no}", "{chunks}", "{url"] {
            await home.run("list", "--format", format).expect(.usage, says: "receivedBytes")
        }
        await home.run("list", "--format", "{url}", "--json").expect(.usage)
    }

    @Test func anEmptyStore() async throws {
        try await home.leavePartial()
        await home.run("purge", "--all").expect(.success)
        let text = await home.run("list").expect(.success)
        #expect(text.output.isEmpty)
        #expect(text.errors.isEmpty)
        #expect(await home.run("list", outputWidth: 80).output.isEmpty)
        let json = await home.run("list", "--json")
        #expect(json.output.isEmpty && json.errors.isEmpty)
    }

    @Test func chosenAndSorted() async throws {
        for (name, held) in [("a", 50_000), ("b", 200_000), ("c", 100_000)] as [(String, Int64)] {
            try await home.leavePartial("\(name).bin", held: held, options: ["--key", name])
        }
        try await home.sql(
            """
            UPDATE download SET created_at = created_at - 9000000, used_at = used_at - 1000000 WHERE key = 'b';
            UPDATE download SET created_at = created_at - 5000000, used_at = used_at - 3000000 WHERE key = 'c';
            """)
        func keys(_ arguments: String...) async throws -> [String] {
            try await home.run(["list", "--json"] + arguments).json.compactMap { $0["key"]?.string }
        }
        #expect(try await keys() == ["a", "b", "c"])
        #expect(try await keys("--sort", "used") == ["a", "b", "c"])
        #expect(try await keys("--sort", "size") == ["c", "b", "a"], "equal sizes: the order in which they were made")
        #expect(try await keys("--sort", "received") == ["b", "c", "a"])
        try await home.sql("UPDATE download SET url = 'http://h/' || key || '/b.bin'")
        #expect(try await keys("--sort", "url") == ["a", "b", "c"])
        #expect(try await keys("--reverse") == ["c", "b", "a"])
        #expect(try await keys("--limit", "2") == ["a", "b"])
        #expect(try await keys("--sort", "size", "--reverse", "--limit", "1") == ["a"])
        #expect(try await keys("--state", "partial") == ["a", "b", "c"])
        #expect(try await keys("--state", "complete").isEmpty)
        try await home.sql("UPDATE download SET complete_length = 900000 WHERE key = 'a'")
        #expect(try await keys("--sort", "size") == ["a", "c", "b"])
        try await home.sql("UPDATE download SET complete_length = NULL WHERE key = 'a'")
        #expect(try await keys("--sort", "size") == ["c", "b", "a"], "an unknown size is the smallest one")
        #expect(try await keys("--sort", "created") == ["c", "b", "a"], "the order in which they were made")
        #expect(try await keys("--older-than", "10m") == ["b", "c"])
        #expect(try await keys("--older-than", "30m") == ["c"])
        #expect(try await keys("--match", "?") == ["a", "b", "c"])
        #expect(try await keys("--match", "*/b/b.bin") == ["b"])
        #expect(try await keys("--match", "*/b/b.bin", "--older-than", "30m").isEmpty)
        #expect(await home.run("list", "--match", "none").errors == "no entry matches\n")
    }

    @Test func inUse() async throws {
        _ = try await home.whileDownloading { url in
            let entry = try #require(try await home.entry(url))
            #expect(entry["inUse"]?.bool == true)
            await home.run("list").expect(prints: "in use")
        }
        #expect(await home.run("list").output.contains("in use") == false)
    }

    @Test func show() async throws {
        let url = try await home.leavePartial()
        let outcome = await home.run("show", url).expect(.success)
        let facts: [String: String] = [
            "key": url, "url": url, "state": "partial", "length": "293.0 KiB (300000 bytes)", "resumable": "yes",
            "etag": "\"v1\"", "last modified": "none", "content type": "application/octet-stream",
            "destination": home["file.bin"], "pinned": "no", "in use": "no",
            "map": "[" + String(repeating: "#", count: 33) + String(repeating: ".", count: 17) + "]",
        ]
        for (name, value) in facts {
            let line = outcome.lines.first { $0.hasPrefix("\(name): ") }
            let shown = line.map { $0.dropFirst(name.count + 1).drop { $0 == " " } }
            #expect(shown.map(String.init) == value, "\(name)")
        }
        #expect(outcome.output.contains("received:        195.3 KiB (200000 bytes)"))
        // The last reasons.
        #expect(outcome.output.contains("no partial data was stored"))
        #expect(outcome.output.contains("200000 bytes received are kept"))
    }

    @Test func showAsJSON() async throws {
        let url = try await home.leavePartial()
        let shown = try await home.run("show", url, "--json").object
        let listed = try #require(try await home.entry(url))
        for key in listed.keys { #expect(shown[key] == listed[key], "\(key)") }
        #expect(Set(shown.keys).subtracting(listed.keys) == ["contentType", "events", "validator"])
        #expect(shown["validator"]?.string == "\"v1\"")
        #expect(shown["events"]?.array?.compactMap { $0["kind"]?.string } == ["started", "interrupted"])
    }

    @Test func showByAnyFormOfTheURL() async throws {
        let url = try await home.leavePartial()
        let user = url.replacing("http://", with: "HTTP://me:secret@")
        for form in [url + "#part", user, url + "?X-Amz-Signature=1"] {
            await home.run("show", form).expect(.success)
        }
        await home.run("show", url + "?part=1").expect(.notFound)
    }

    @Test("A destination or a unique part is enough, and candidates are listed otherwise")
    func showByAPart() async throws {
        let url = try await home.leavePartial("mid.bin", options: ["--key", "big"])
        let other = try await home.leavePartial("other.bin", held: 100_000)
        func shown(_ text: String) async -> String? {
            await home.run("show", text).lines.first { $0.hasPrefix("url: ") }
        }
        for text in ["big", "mid", "mid.bin", home["mid.bin"], String(url.dropFirst(7)), "/mid"] {
            #expect(await shown(text)?.hasSuffix(url) == true, "\(text)")
        }
        #expect(await shown(home["other.bin"])?.hasSuffix(other) == true)
        let both = await home.run("show", ".bin")
        #expect(both.status == .notFound && both.output.isEmpty)
        #expect(both.errors == "resumectl: 2 entries match .bin; name one of them:\n  big\n  \(other)\n")
        await home.run("show", "none.bin").expect(.notFound, says: "there is no entry none.bin")
        await home.run("show", "").expect(.notFound)
    }

    /// An entry that has a key of its own is still that URL's.
    @Test func showByTheURLOfAnEntryWithAKey() async throws {
        let url = try await home.leavePartial(options: ["--key", "image"])
        await home.run("show", "image").expect(.success)
        let commands = ["show", "pin", "unpin", "verify", "purge"]
        for command in commands {
            await home.run(command, url).expect(.success)
        }
    }
}
