import OriginServer
@testable import ResumeCommands
import Testing

/// Options of `get`: fields, digests and limits.
@Suite(.timeLimit(.minutes(20)))
struct GetOptionsTests {
    private let home = Home()

    /// The SHA-256 of a million times the letter a, one of FIPS 180's examples.
    static let digest = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    private static let million = Resource(
        Content([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)), etag: "\"a\"")

    @Test func headers() async throws {
        let server = try await home.serve(Sample.cutOnce)
        await home.run(
            "get", server.url(), "-o", home["out.bin"], "--header", "X-One: 1", "-H", "x-two:\t two words",
            "--header", "X-Empty:", "--header", "User-Agent: test/1"
        ).expect(.success)
        // With each request, the ones that go on as well.
        #expect(server.requests.count == 2)
        for request in server.requests {
            #expect(request.fields("X-One") == ["1"])
            #expect(request.fields("X-Two") == ["two words"])
            #expect(request.fields("X-Empty") == [""])
            #expect(request.fields("User-Agent") == ["test/1"])
            #expect(request.fields("Accept-Encoding") == ["identity"])
        }
    }

    /// A space too many at the end is no mistake that anybody sees.
    @Test func headerWithASpaceAtItsEnd() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out.bin"], "--header", "X-One: 1 ").expect(.success)
        #expect(server.requests.map { $0.fields("X-One") } == [["1"]])
    }

    @Test func whatIsSentByItself() async throws {
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "-o", home["out.bin"]).expect(.success)
        let request = try #require(server.requests.first)
        #expect(request.method == "GET")
        #expect(request.field("Host") == "127.0.0.1:\(server.port)")
        #expect(request.field("User-Agent")?.isEmpty == false)
        #expect(request.field("Authorization") == nil)
    }

    @Test func userAndPassword() async throws {
        let server = try await home.serve(Sample.whole)
        let url = server.url("/file.bin", user: "Aladdin:open%20sesame")
        await home.run("get", url, "-o", home["out.bin"]).expect(.success)
        // RFC 7617's example.
        #expect(server.requests.first?.field("Authorization") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(server.requests.first?.target == "/file.bin")
    }

    /// Credentials stop at the origin they were meant for.
    @Test func redirectToAnotherOrigin() async throws {
        let other = try await home.serve(Sample.whole)
        let location = other.url("/elsewhere.bin")
        let server = try await home.serve { request in
            request.path == "/start"
                ? .status("302 Found", fields: [("Location", "/second")])
                : .status("307 Temporary Redirect", fields: [("Location", location)])
        }
        await home.run(
            "get", server.url("/start", user: "me:secret"), "-o", home["out.bin"], "-H", "X-Token: secret",
            "-H", "Cookie: secret", "-H", "Accept: text/plain"
        ).expect(.success)
        #expect(server.requests.map { $0.field("X-Token") } == ["secret", "secret"])
        #expect(server.requests.allSatisfy { $0.field("Authorization") != nil })
        let request = try #require(other.requests.first)
        #expect(request.field("X-Token") == nil)
        #expect(request.field("Cookie") == nil)
        #expect(request.field("Authorization") == nil)
        #expect(request.field("Accept") == "text/plain")
    }

    @Test(arguments: [digest, digest.uppercased()])
    func rightDigest(text: String) async throws {
        let server = try await home.serve { request in
            .file(Self.million, for: request, cutAfter: request.number == 1 ? Sample.cut : nil)
        }
        let get = ["get", server.url(), "-o", home["out.bin"], "--sha256", text, "--json", "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        let outcome = await home.run(get).expect(.success)
        let finished = try #require(try outcome.json.last)
        #expect(finished["sha256"]?.string == Self.digest)
        #expect(finished["reusedBytes"]?.integer == Sample.cut)
        #expect(Self.million.content.matches(try home.bytes("out.bin")))
    }

    @Test func wrongDigestIsNeverDelivered() async throws {
        try home.write("old".utf8, to: "out.bin")
        let server = try await home.serve(Sample.whole)
        let get = ["get", server.url(), "-o", home["out.bin"], "--sha256", Self.digest, "--json"]
        let outcome = await home.run(get).expect(.refused)
        let failed = try #require(try outcome.json.last)
        #expect(failed["event"]?.string == "failed")
        #expect(failed["reason"]?.string == "digest-mismatch")
        #expect(failed["resumable"]?.bool == true)
        #expect(try outcome.events.contains("finished") == false)
        // With the one that it has.
        let message = /SHA-256: expected [0-9a-f]{64}, received ([0-9a-f]{64}); nothing was written, and/
        #expect(outcome.errors.firstMatch(of: message) != nil, "\(outcome.errors)")
        #expect(try home.bytes("out.bin") == Array("old".utf8))
        #expect(try home.names() == ["out.bin", "store"])
        // The next answer would bring the same; it may be the digest that is wrong.
        #expect(server.requests.count == 1)
        #expect(try home.names(in: "store/blobs").count == 1)
        let log = await home.run("log", server.url())
        #expect(log.lines.count { $0.contains("SHA-256") } == 1, "it is recorded once: \(log.output)")
        let digest = try #require(outcome.errors.firstMatch(of: message)?.1)
        await home.run("get", server.url(), "-o", home["out.bin"], "--sha256", String(digest))
            .expect(.success, says: " reused, SHA-256 verified, replaced the file that was there\n")
        #expect(server.requests.count == 1)
        #expect(try home.names(in: "store/blobs").isEmpty)
    }

    @Test(arguments: [Resource.Framing.contentLength, .chunked(size: 10_000), .untilClose])
    func tooLarge(framing: Resource.Framing) async throws {
        var resource = Sample.resource
        resource.framing = framing
        let served = resource
        let server = try await home.serve { .file(served, for: $0) }
        let get = ["get", server.url(), "-o", home["out.bin"], "--max-size"]
        let outcome = await home.run(get + ["299999"]).expect(.refused, says: "exceeds the limit of 299999 bytes")
        // The length is known only where the server sends it.
        #expect(outcome.errors.contains("has 300000 bytes") == (framing == .contentLength), "\(outcome.errors)")
        #expect(!home.has("out.bin"))
        await home.run(get + ["300KB"]).expect(.success)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }

    @Test("--max-size is a limit for files, not for pages that refuse one")
    func largePage() async throws {
        let server = try await home.serve { request in
            let page = [UInt8](repeating: 32, count: 5000)
            if request.path == "/none" { return .status("404 Not Found", body: page) }
            return request.number == 1
                ? .status("503 Unavailable", fields: [("Retry-After", "0")], body: page) : .status("200 OK", body: [1])
        }
        let get = ["get", "-P", home.path, "--max-size", "1000"]
        await home.run(get + [server.url("/file")]).expect(.success)
        await home.run(get + [server.url("/none")]).expect(says: "404")
    }

    @Test func key() async throws {
        try await home.leavePartial(options: ["--key", "image v1"])
        #expect(try await home.held("image v1") == Sample.cut)
        // The same key goes on from another place that has the same file.
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url("/mirror.bin"), "-o", home["out.bin"], "--key", "image v1").expect(.success)
        #expect(server.requests.first?.field("Range") != nil)
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }

    @Test func limitedRate() async throws {
        let server = try await home.serve(Sample.whole)
        let start = ContinuousClock.now
        await home.run("get", server.url(), "-o", home["out.bin"], "--limit-rate", "300KB").expect(.success)
        // A second, but for the tenth that may be caught up after a pause. There is no upper bound.
        #expect(ContinuousClock.now - start >= .milliseconds(900))
        #expect(Sample.content.matches(try home.bytes("out.bin")))
    }
}
