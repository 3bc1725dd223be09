import OriginServer
@testable import ResumeCommands
import Testing

/// Options of `get` that say what is wanted, and on which terms it is continued.
@Suite(.timeLimit(.minutes(20)))
struct TermsTests {
    private let home: Home

    init() throws { home = try Home() }

    /// Six hundred thousand bytes under a tag, of which the first run gets a part.
    private static let file = Resource(Content(length: 600_000, seed: 9), etag: "\"v1\"")
    private static let cut: Int64 = 400_000

    private func cutOnce(_ options: [String], _ body: (OriginServer) async throws -> Void) async throws {
        try await OriginServer.withServer(handler: { .file(Self.file, for: $0, cutAfter: Self.cut) }) { server in
            let outcome = await home.run(["get", server.url(), "-o", home["out.bin"], "--retries", "0"] + options)
            #expect(outcome.status == .tryAgain)
            server.setHandler { .file(Self.file, for: $0) }
            try await body(server)
        }
    }

    private func get(_ server: OriginServer, _ options: [String]) async throws -> Outcome {
        let outcome = await home.run(["get", server.url(), "-o", home["out.bin"], "--json"] + options)
        #expect(outcome.status == .success, "\(outcome.errors)")
        return outcome
    }

    @Test(arguments: ["if-range", "if-match", "head"])
    func condition(name: String) async throws {
        try await cutOnce([]) { server in
            let outcome = try await get(server, ["--condition", name])
            #expect(try outcome.events.contains("resumed"))
            #expect(Self.file.content.matches(try home.bytes("out.bin")))
            let later = server.requests.dropFirst()
            #expect(later.map(\.method) == (name == "head" ? ["HEAD", "GET"] : ["GET"]))
            #expect((later.last?.field("If-Match") != nil) == (name == "if-match"))
            #expect((later.last?.field("If-Range") != nil) == (name == "if-range"))
        }
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
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"])
            #expect(outcome.status == .refused)
            #expect(outcome.errors.contains("The partial data is kept"))
        }
    }

    @Test func range() async throws {
        let options = ["--range", "bytes=1000-499999,-10"]
        try await cutOnce(options) { server in
            let key = server.url() + "#bytes=1000-499999,-10"
            let list = await home.run("list")
            #expect(list.output.contains(key))
            let show = await home.run("show", key)
            #expect(show.status == .success)
            #expect(show.output.contains("bytes=1000-499999,-10"))
            #expect(show.output.contains("499010 bytes"))
            let outcome = try await get(server, options)
            #expect(try outcome.events.contains("resumed"))
            let content = Self.file.content
            let expected = content.bytes(in: 1000..<500_000) + content.bytes(in: 599_990..<600_000)
            #expect(try home.bytes("out.bin") == expected)
        }
    }

    /// As the help shows it, though it looks like an option.
    @Test func suffix() async throws {
        try await OriginServer.withServer(handler: { .file(Self.file, for: $0) }) { server in
            _ = try await get(server, ["--range", "-500"])
            #expect(try home.bytes("out.bin") == Self.file.content.bytes(in: 599_500..<600_000))
        }
    }

    @Test func rangesArePurgedByTheirKey() async throws {
        try await cutOnce(["--range", "0-499999"]) { server in
            let purge = await home.run("purge", server.url() + "#bytes=0-499999")
            #expect(purge.status == .success)
            #expect(await home.run("list").output.isEmpty)
        }
    }

    @Test func rangeBeyondTheEnd() async throws {
        try await OriginServer.withServer(handler: { .file(Self.file, for: $0) }) { server in
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--range", "600000-")
            #expect(outcome.status == .refused)
            #expect(outcome.errors.contains("beyond the end of the file"))
            let names = try home.names()
            #expect(!names.contains("out.bin"))
        }
    }

    /// SHA-512 of a million times the letter a, one of FIPS 180's examples.
    private static let sha512 =
        "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb"
        + "de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b"

    @Test func longDigest() async throws {
        let million = Resource(Content([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)), etag: "\"a\"")
        try await OriginServer.withServer(handler: { .file(million, for: $0) }) { server in
            let outcome = try await get(server, ["--sha512", Self.sha512])
            #expect(try outcome.json.last?["sha512"]?.string == Self.sha512)
            #expect(try outcome.json.last?["sha256"] == nil)
            server.setHandler { .file(Self.file, for: $0) }
            let wrong = await home.run("get", server.url(), "-o", home["other.bin"], "--sha512", Self.sha512)
            #expect(wrong.status == .refused)
            #expect(wrong.errors.contains("SHA-512"))
        }
    }

    @Test func unvalidated() async throws {
        var plain = Self.file
        plain.etag = nil
        let resource = plain
        try await OriginServer.withServer(handler: { .file(resource, for: $0, cutAfter: Self.cut) }) { server in
            let url = server.url()
            #expect(await home.run("get", url, "-o", home["out.bin"], "--retries", "0").status == .tryAgain)
            server.setHandler { .file(resource, for: $0) }
            let outcome = try await get(server, ["--allow-unvalidated"])
            #expect(try outcome.events.contains("resumed"))
            #expect(server.requests.last?.field("If-Range") == nil)
            #expect(try outcome.json.last?["proved"]?.bool == false)
            #expect(Self.file.content.matches(try home.bytes("out.bin")))
            // Without the option from the start, and so of one answer.
            let whole = try await get(server, [])
            #expect(try whole.json.last?["proved"]?.bool == true)
            let log = await home.run("log")
            #expect(log.output.contains("no validator or digest proves that it is one version"))
        }
    }

    @Test("F2: a file that differs at its ends alone is not taken for the same")
    func unvalidatedEnds() async throws {
        var plain = Self.file
        plain.etag = nil
        let old = plain
        var bytes = old.content.bytes(in: old.content.all)
        for index in Array(0..<65_536) + Array(bytes.count - 65_536..<bytes.count) { bytes[index] ^= 0xFF }
        let new = Resource(Content(bytes))
        try await OriginServer.withServer(handler: { .file(old, for: $0, cutAfter: Self.cut) }) { server in
            let url = server.url()
            #expect(await home.run("get", url, "-o", home["out.bin"], "--retries", "0").status == .tryAgain)
            server.setHandler { .file(new, for: $0) }
            let outcome = try await get(server, ["--allow-unvalidated"])
            #expect(try outcome.json.contains { $0["reason"]?.string == "spot-check-differs" })
            #expect(try outcome.json.last?["proved"]?.bool == true)
            #expect(new.content.matches(try home.bytes("out.bin")))
        }
    }

    @Test("F3: after a range request that is answered with no valid response, closed ranges and the whole file follow")
    func invalidRangeAnswer() async throws {
        let answer = "HTTP/1.1 206 Partial Content\r\nContent-Length: -5\r\nContent-Range: bytes 5-4/5\r\n\r\n"
        try await cutOnce([]) { server in
            server.setHandler { request in
                request.field("Range") == nil
                    ? .file(Self.file, for: request) : Response([.raw(Array(answer.utf8)), .close])
            }
            _ = try await get(server, ["--retries", "0"])
            let hasRange = server.requests.map { $0.field("Range") != nil }
            #expect(hasRange == [false, true, false, true, false])
            #expect(Self.file.content.matches(try home.bytes("out.bin")))
            let log = await home.run("log", "--json")
            #expect(log.output.contains("range-answer-invalid"))
        }
    }

    @Test("resume retries as often as its jobs were to, unless it is told otherwise")
    func retriesOfResume() async throws {
        try await OriginServer.withServer(handler: { _ in .status("503 Service Unavailable") }) { server in
            for (arguments, count) in [
                (["get", server.url(), "-o", home["out.bin"], "--retries", "0"], 1), (["resume"], 2),
                (["resume", "--retries", "1"], 4),
            ] {
                #expect(await home.run(arguments).status == .tryAgain)
                #expect(server.requests.count == count, "\(arguments)")
            }
            #expect(await home.run("resume", "--retries", "1001").status == .usage)
        }
    }

    @Test func coded() async throws {
        let handler: @Sendable (OriginRequest) -> Response = {
            Response.file(Self.file, for: $0).settingField("Content-Encoding", to: "gzip")
        }
        try await OriginServer.withServer(handler: handler) { server in
            let refused = await home.run("get", server.url(), "-o", home["out.bin"])
            #expect(refused.status == .refused)
            let outcome = try await get(server, ["--accept-encoding", "gzip"])
            #expect(try outcome.json.last?["contentCoding"]?.string == "gzip")
            #expect(server.requests.last?.fields("Accept-Encoding") == ["gzip"])
            #expect(Self.file.content.matches(try home.bytes("out.bin")))
        }
    }

    @Test func gone() async throws {
        try await cutOnce([]) { server in
            server.setHandler { _ in .status("404 Not Found") }
            #expect(await home.run("get", server.url(), "-o", home["out.bin"]).status == .refused)
            let show = await home.run("show", server.url())
            #expect(show.output.contains("the file does not exist"))
            #expect(await home.run("gc").status == .success)
            #expect(await home.run("list").output.contains(server.url()))
        }
    }
}
