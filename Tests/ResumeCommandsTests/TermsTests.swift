import OriginServer
@testable import ResumeCommands
import Testing

/// Options of `get` that say what is wanted, and on which terms it is continued.
@Suite(.timeLimit(.minutes(20)))
struct TermsTests {
    private let home = Home()

    /// Six hundred thousand bytes under a tag, of which the first run gets a part.
    private static let file = Resource(Content(length: 600_000, seed: 9), etag: "\"v1\"")
    private static let cut: Int64 = 400_000

    private func cutOnce(_ options: [String], _ body: (OriginServer) async throws -> Void) async throws {
        let server = try await home.serve { .file(Self.file, for: $0, cutAfter: Self.cut) }
        await home.run(["get", server.url(), "-o", home["out.bin"], "--retries", "0"] + options).expect(.tryAgain)
        server.setHandler { .file(Self.file, for: $0) }
        try await body(server)
    }

    private func get(_ server: OriginServer, _ options: [String]) async throws -> Outcome {
        let outcome = await home.run(["get", server.url(), "-o", home["out.bin"], "--json"] + options).expect(.success)
        return outcome
    }

    @Test func headElsewhere() async throws {
        try await cutOnce([]) { server in
            let outcome = try await get(server, ["--condition", "head", "--head-url", server.url("/head")])
            #expect(try outcome.events.contains("resumed"))
            #expect(server.requests.dropFirst().map { "\($0.method) \($0.path)" } == ["HEAD /head", "GET /file.bin"])
        }
    }

    @Test func forbiddenSaysWhatToDo() async throws {
        try await cutOnce([]) { server in
            server.setHandler { _ in .status("403 Forbidden") }
            await home.run("get", server.url(), "-o", home["out.bin"])
                .expect(.refused, says: "The partial data is kept")
        }
    }

    @Test func range() async throws {
        let options = ["--range", "bytes=1000-499999,-10"]
        try await cutOnce(options) { server async throws in
            let key = server.url() + "#bytes=1000-499999,-10"
            await home.run("list").expect(prints: key)
            await home.run("show", key).expect(.success, prints: "bytes=1000-499999,-10", "499010 bytes")
            #expect(try await get(server, options).events.contains("resumed"))
            let content = Self.file.content
            let expected = content.bytes(in: 1000..<500_000) + content.bytes(in: 599_990..<600_000)
            #expect(try home.bytes("out.bin") == expected)
        }
    }

    /// As the help shows it, though it looks like an option.
    @Test func suffix() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        _ = try await get(server, ["--range", "-500"])
        #expect(try home.bytes("out.bin") == Self.file.content.bytes(in: 599_500..<600_000))
    }

    @Test func rangesArePurgedByTheirKey() async throws {
        try await cutOnce(["--range", "0-499999"]) { server in
            await home.run("purge", server.url() + "#bytes=0-499999").expect(.success)
            #expect(await home.run("list").output.isEmpty)
        }
    }

    @Test func rangeBeyondTheEnd() async throws {
        let server = try await home.serve { .file(Self.file, for: $0) }
        await home.run("get", server.url(), "-o", home["out.bin"], "--range", "600000-")
            .expect(.refused, says: "beyond the end of the file")
        #expect(try !home.names().contains("out.bin"))
    }

    /// SHA-512 of a million times the letter a, one of FIPS 180's examples.
    private static let sha512 =
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
        + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"

    @Test func longDigest() async throws {
        let million = Resource(Content([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)), etag: "\"a\"")
        let server = try await home.serve { .file(million, for: $0) }
        let outcome = try await get(server, ["--sha512", Self.sha512])
        #expect(try outcome.json.last?["sha512"]?.string == Self.sha512)
        #expect(try outcome.json.last?["sha256"] == nil)
        server.setHandler { .file(Self.file, for: $0) }
        await home.run("get", server.url(), "-o", home["other.bin"], "--sha512", Self.sha512)
            .expect(.refused, says: "SHA-512")
    }

    @Test func unvalidated() async throws {
        var plain = Self.file
        plain.etag = nil
        let resource = plain
        let server = try await home.serve { .file(resource, for: $0, cutAfter: Self.cut) }
        let url = server.url()
        await home.run("get", url, "-o", home["out.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler { .file(resource, for: $0) }
        let outcome = try await get(server, ["--allow-unvalidated"])
        #expect(try outcome.events.contains("resumed"))
        #expect(server.requests.last?.field("If-Range") == nil)
        #expect(try outcome.json.last?["proved"]?.bool == false)
        #expect(Self.file.content.matches(try home.bytes("out.bin")))
        // Without the option from the start, and so of one answer.
        #expect(try await get(server, []).json.last?["proved"]?.bool == true)
        await home.run("log").expect(prints: "no validator or digest proves that it is one version")
    }

    @Test("F2: a file that differs at its ends alone is not taken for the same")
    func unvalidatedEnds() async throws {
        var plain = Self.file
        plain.etag = nil
        let old = plain
        var bytes = old.bytes
        for index in Array(0..<65_536) + Array(bytes.count - 65_536..<bytes.count) { bytes[index] ^= 0xFF }
        let new = Resource(Content(bytes))
        let server = try await home.serve { .file(old, for: $0, cutAfter: Self.cut) }
        let url = server.url()
        await home.run("get", url, "-o", home["out.bin"], "--retries", "0").expect(.tryAgain)
        server.setHandler { .file(new, for: $0) }
        let outcome = try await get(server, ["--allow-unvalidated"])
        #expect(try outcome.json.contains { $0["reason"]?.string == "spot-check-differs" })
        #expect(try outcome.json.last?["proved"]?.bool == true)
        #expect(new.content.matches(try home.bytes("out.bin")))
    }

    @Test("resume retries as often as its jobs were to, unless it is told otherwise")
    func retriesOfResume() async throws {
        let server = try await home.serve { _ in .status("503 Service Unavailable") }
        for (arguments, count) in [
            (["get", server.url(), "-o", home["out.bin"], "--retries", "0"], 1), (["resume"], 2),
            (["resume", "--retries", "1"], 4),
        ] {
            await home.run(arguments).expect(.tryAgain)
            #expect(server.requests.count == count, "\(arguments)")
        }
        await home.run("resume", "--retries", "1001").expect(.usage)
    }

    @Test func coded() async throws {
        let server = try await home.serve {
            Response.file(Self.file, for: $0).settingField("Content-Encoding", to: "gzip")
        }
        await home.run("get", server.url(), "-o", home["out.bin"]).expect(.refused)
        #expect(try await get(server, ["--accept-encoding", "gzip"]).json.last?["contentCoding"]?.string == "gzip")
        #expect(server.requests.last?.fields("Accept-Encoding") == ["gzip"])
        #expect(Self.file.content.matches(try home.bytes("out.bin")))
    }

    @Test func gone() async throws {
        try await cutOnce([]) { server in
            server.setHandler { _ in .status("404 Not Found") }
            await home.run("get", server.url(), "-o", home["out.bin"]).expect(.refused)
            await home.run("show", server.url()).expect(prints: "the file does not exist")
            await home.run("gc").expect(.success)
            await home.run("list").expect(prints: server.url())
        }
    }
}
