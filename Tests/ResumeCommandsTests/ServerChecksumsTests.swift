import OriginServer
@testable import ResumeCommands
import Testing

/// `get --checksums URL`: a list of digests on a server.
@Suite(.timeLimit(.minutes(20)))
struct ServerChecksumsTests {
    private let home = Home()

    /// The digest of "abc", an example of FIPS 180.
    private static let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let list = "# a list\n\(digest)  a.bin\r\n\(String(repeating: "0", count: 64))  b.bin\n"

    /// Serves the list at `/sums`, and "abc" elsewhere.
    private static func answer(_ request: OriginRequest, list: String = list) -> Response {
        switch request.path {
        case "/sums": .status("200 OK", fields: [("Content-Type", "text/plain")], body: Array(list.utf8))
        case "/moved": .status("302 Found", fields: [("Location", "/sums")])
        default: .file(Resource(Content("abc"), etag: "\"v1\""), for: request)
        }
    }

    private static func authorization(_ request: OriginRequest) -> String {
        "\(request.path) \(request.field("authorization") ?? "-")"
    }

    @Test("The list is fetched before the first download, redirected or not, and compared with each file")
    func fetched() async throws {
        let server = try await home.serve { Self.answer($0) }
        let urls = ["/a.bin", "/b.bin", "/c.bin"].map { server.url($0) }
        let outcome = await home.run(
            ["get", "-P", home["out"], "--checksums", server.url("/moved?token=secret1")] + urls)
        #expect(outcome.status == .refused && outcome.lines == [home["out/a.bin"]], "\(outcome.errors)")
        #expect(outcome.errors.contains("a.bin: done, 3 B, SHA-256 verified"), "\(outcome.errors)")
        #expect(outcome.errors.contains("b.bin: the file does not have the expected SHA-256"))
        let shown = outcome.errors.split(separator: "\n").first { $0.contains("argument 7: ") } ?? ""
        #expect(shown.contains("/moved") && shown.contains("contains no checksum of \(urls[2])"))
        #expect(!outcome.errors.contains("secret1") && !home.has("out/c.bin"))
        // Only the response to the last one shows that no name of its file is in the list.
        #expect(server.requests.prefix(2).map(\.path) == ["/moved", "/sums"] && server.requests.count == 5)
        let stream = await home.stream([urls[1], "--checksums", server.url("/sums")], to: { _ in 0 })
        #expect(stream.status == .refused && stream.errors.contains("SHA-256"), "\(stream.errors)")
        let none = await home.stream([urls[2], "--checksums", server.url("/sums")], to: { _ in 0 })
        #expect(none.status == .refused && none.errors.contains("contains no checksum of"), "\(none.errors)")
    }

    @Test("The digests are recorded with the jobs, for resume")
    func resumed() async throws {
        let server = try await home.serve { request in
            request.path == "/sums" ? Self.answer(request) : .file(Sample.resource, for: request, cutAfter: Sample.cut)
        }
        let get = ["get", server.url("/a.bin"), "-P", home.path, "--retries", "0"]
        await home.run(get + ["--checksums", server.url("/sums")]).expect(.tryAgain)
        let count = server.requests.count
        server.setHandler(Sample.whole)
        await home.run("resume").expect(.refused, says: "expected SHA-256")
        #expect(!server.requests.dropFirst(count).contains { $0.path == "/sums" } && !home.has("a.bin"))
    }

    private static let noChecksum = "contains no checksums of SHA-256, SHA-512, SHA-1 or MD5"

    private static let failures: [(String, ResumeCommands.ExitStatus, String)] = [
        ("404 Not Found", .refused, "Not Found. Check the URL, or download the list and give --checksums its path."),
        ("503 Service Unavailable", .tryAgain, "No retries are left; run the download again later.\n"),
        ("200 OK", .refused, "\(noChecksum)\n"), ("too large", .refused, "the limit of"),
        ("too long", .refused, "the download exceeds the limit of 16777216 bytes. Check the URL"),
        ("short lines", .refused, "\(noChecksum)\n"),
        ("cut", .tryAgain, "No retries are left; run the download again later.\n"),
    ]

    @Test("If there is no list, nothing is downloaded, and the error names the URL", arguments: failures.indices)
    func failed(index: Int) async throws {
        let (status, expected, message) = Self.failures[index]
        var endless = Resource(Content(length: 17 << 20, seed: 1))
        endless.framing = .chunked(size: 1 << 16)
        let server = try await home.serve { [endless] request in
            switch status {
            case "too large": .file(Resource(Content(length: 17 << 20, seed: 1)), for: request)
            case "too long": .file(endless, for: request)
            case "short lines":
                .status("200 OK", body: Array(String(repeating: "a\n", count: 500_000).utf8))
            case "cut": .file(Resource(Content(Self.list)), for: request, cutAfter: 10)
            default: .status(status, body: Array("<html>none</html>".utf8))
            }
        }
        let url = server.url("/sums?token=secret1", user: "me:secret2")
        let get = ["get", server.url("/a.bin"), "-P", home.path, "--retries", "0", "--checksums", url]
        let outcome = await home.run(get)
        #expect(outcome.status == expected && outcome.output.isEmpty, "\(outcome.errors)")
        let errors = outcome.errors.replacing(/: \d+ bytes have been received/, with: "")
        #expect(errors.contains(message) && errors.contains("\(server.url("/sums"))"), "\(errors)")
        #expect(!outcome.errors.contains("kept") && !outcome.errors.contains("secret"), "\(outcome.errors)")
        #expect(server.requests.allSatisfy { $0.path == "/sums" } && !home.has("a.bin"))
        #expect(try await home.run("jobs", "--json").json.isEmpty)
        let event = try await home.run(get + ["--json"]).object
        #expect(event["event"]?.string == "failed" && event["resumable"]?.bool == false)
    }

    @Test("A list does not exceed the limits of downloads", arguments: ["total-rate", "limit-rate"])
    func rate(name: String) async throws {
        let list = String(repeating: "# nothing\n", count: 400) + Self.list
        let server = try await home.serve { Self.answer($0, list: list) }
        await home.run(
            "get", server.url("/a.bin"), "-P", home.path, "--\(name)", "00:00-12:00=1k,12:00-24:00=1k",
            "--max-time",
            "1", "--checksums", server.url("/sums")
        ).expect(.tryAgain, says: "cannot fetch the checksums")
    }

    @Test("A list takes no longer than --max-time")
    func maxTime() async throws {
        let server = try await home.serve {
            .file(Resource(Content(Self.list)), for: $0, cutAfter: 10, stall: true)
        }
        let outcome = await home.run(
            "get", server.url(), "-P", home.path, "--max-time", "1", "--checksums", server.url("/sums"))
        #expect(outcome.status == .tryAgain && outcome.errors.hasSuffix("not complete after 1s (--max-time)\n"))
    }

    @Test("Credentials of the downloads are sent for the list only to their own server")
    func credentials() async throws {
        let server = try await home.serve { Self.answer($0) }
        let other = try await home.serve { Self.answer($0) }
        let get = ["get", server.url("/a.bin"), "-P", home.path, "--restart"]
        let me = "Basic bWU6cHc="
        let cases: [([String], String, [String], [String])] = [
            (["-u", "me:pw"], server.url("/sums"), ["/sums \(me)", "/a.bin \(me)"], []),
            (["-u", "me:pw"], other.url("/sums"), ["/a.bin \(me)"], ["/sums -"]),
            (["-H", "Authorization: \(me)"], other.url("/sums"), ["/a.bin \(me)"], ["/sums -"]),
            ([], other.url("/sums", user: "me:pw"), ["/a.bin -"], ["/sums \(me)"]),
            (
                ["--auth-command", "printf username=me\\npassword=pw\\n"], other.url("/sums"),
                ["/a.bin \(me)"], ["/sums \(me)"]
            ),
        ]
        for (options, list, own, others) in cases {
            let (first, second) = (server.requests.count, other.requests.count)
            await home.run(get + options + ["--checksums", list]).expect(.success)
            #expect(server.requests.dropFirst(first).map(Self.authorization) == own, "\(options)")
            #expect(other.requests.dropFirst(second).map(Self.authorization) == others, "\(options)")
        }
    }

    @Test("Another scheme is a usage error", arguments: ["ftp://127.0.0.1/sums", "http:///sums"])
    func scheme(list: String) async throws {
        let outcome = await home.run("get", "http://127.0.0.1:9/a.bin", "--checksums", list)
        #expect(outcome.status == .usage && outcome.errors.contains("--checksums requires a path, or a URL with http"))
        #expect(try home.names().isEmpty)
    }
}
