import OriginServer
import ResumeCommands
import Testing

/// L04: user info, signatures and secret fields are neither stored nor shown.
@Suite(.timeLimit(.minutes(20)))
struct RedactionTests {
    private let home: Home

    init() throws { home = try Home() }

    /// Parts of the secrets, each of which betrays one.
    private static let secrets = [
        "hunter2", "bWU6aHVudGVyMg", "5ca1ab1e", "AKIDEXAMPLE", "t0pSecret", "X-Amz-Signature", "c00kie",
    ]
    private static let query =
        "part=1&X-Amz-Credential=AKIDEXAMPLE%2F20250101&X-Amz-Signature=5ca1ab1e&token=t0pSecret#fragment"
    private static let headers = ["--header", "Authorization: Bearer t0pSecret", "--header", "Cookie: id=c00kie"]

    private func expectNothing(in text: String, at location: SourceLocation = #_sourceLocation) {
        for secret in Self.secrets {
            #expect(!text.contains(secret), "\(secret)", sourceLocation: location)
        }
    }

    /// Looks at every byte of the store, log and index of the database included.
    private func expectNothingStored(at location: SourceLocation = #_sourceLocation) throws {
        let stored = String(decoding: try home.storedBytes(), as: UTF8.self)
        #expect(stored.contains("file.bin"), "the look must find what is there", sourceLocation: location)
        expectNothing(in: stored, at: location)
    }

    /// All that shows something of the store.
    private func look(_ url: String) async {
        let looks = [
            ["list"], ["list", "--json"], ["show", url], ["show", url, "--json"], ["log"], ["log", url],
            ["log", "--json"], ["stats"], ["doctor"], ["verify"], ["verify", url], ["gc", "--dry-run"], ["pin", url],
            ["unpin", url], ["purge", url, "--dry-run"], ["purge", url, "--dry-run", "--json"],
        ]
        for arguments in looks {
            #expect(await home.run(arguments).status == .success, "\(arguments)")
        }
    }

    @Test("L04: the secrets of a URL") func urls() async throws {
        try await OriginServer.withServer(handler: Sample.cutOnce) { server in
            let url = server.url("/file.bin?\(Self.query)", user: "me:hunter2")
            let get = ["get", url, "--output", home["out.bin"], "--retries", "0", "--verbose"]
            #expect(await home.run(get + Self.headers).status == .tryAgain)
            // The server needs them, so they are sent.
            let request = try #require(server.requests.first)
            #expect(request.target == "/file.bin?" + Self.query.replacing("#fragment", with: ""))
            #expect(request.field("Cookie") == "id=c00kie")
            let key = server.url("/file.bin?part=1")
            #expect(try await home.entry(key)?["url"]?.string == key)
            await look(url)
            try expectNothingStored()
            #expect(await home.run("purge", url).status == .success)
            await home.run("log", url)
            try expectNothingStored()
            expectNothing(in: home.transcript)
        }
    }

    @Test func events() async throws {
        let answers: [Response] = [
            .status("403 Forbidden"), .status("503 Service Unavailable"), Response([.reset]),
            .file(Sample.resource, for: OriginRequest(), cutAfter: 100_000),
            .file(Sample.resource, for: OriginRequest()),
        ]
        for answer in answers {
            try await OriginServer.withServer(handler: { _ in answer }) { server in
                let url = server.url("/file.bin?\(Self.query)", user: "me:hunter2")
                for option in ["--json", "--verbose"] {
                    await home.run("get", url, "-o", home["out.bin"], "--retries", "0", option, width: 80)
                }
            }
        }
        for text in ["403", "503", "\"finished\"", "/file.bin?part=1"] {
            #expect(home.transcript.contains(text), "the look must find what is there: \(text)")
        }
        expectNothing(in: home.transcript)
    }

    /// The signed place that a redirect leads to is as secret as one that the user gives.
    @Test func redirects() async throws {
        try await OriginServer.withServer(handler: Sample.whole) { server in
            let target = server.url("/signed/file.bin?\(Self.query)", user: "me:hunter2")
            server.setHandler { request in
                request.path == "/file.bin"
                    ? .status("302 Found", fields: [("Location", target)])
                    : .file(Sample.resource, for: request, cutAfter: 100_000)
            }
            let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0", "--verbose"]
            #expect(await home.run(get).status == .tryAgain)
            await look(server.url())
            try expectNothingStored()
            server.setHandler { request in
                request.path == "/file.bin"
                    ? .status("302 Found", fields: [("Location", target)]) : .status("403 Forbidden")
            }
            #expect(await home.run(get).status == .refused)
            try expectNothingStored()
            expectNothing(in: home.transcript)
        }
    }

    @Test func urlsThatCannotBeFetched() async throws {
        let unnamed = await home.run("get", "http://me:hunter2@127.0.0.1:9/?X-Amz-Signature=5ca1ab1e")
        #expect(unnamed.status == .usage)
        expectNothing(in: unnamed.errors)
        let absent = "http://me:hunter2@127.0.0.1:9/file.bin?X-Amz-Signature=5ca1ab1e"
        try await home.leavePartial()
        for command in ["show", "log", "verify", "pin", "purge"] {
            let outcome = await home.run(command, absent)
            let words = command == "log" ? "no events are recorded" : "127.0.0.1:9/file.bin"
            #expect(outcome.errors.contains(words), "\(command): \(outcome.errors)")
            expectNothing(in: outcome.errors)
        }
    }

    private static let malformed = [
        ["get", "ftp://me:hunter2@127.0.0.1/file.bin"],
        ["get", "htps://me:hunter2@127.0.0.1/file.bin?X-Amz-Signature=5ca1ab1e"],
        ["get", "http://me:hunter2@127.0.0.1:99999/file.bin"],
        ["get", "http://me:hunter2@127.0.0.1/a b?X-Amz-Signature=5ca1ab1e"],
        ["show", "ftp://me:hunter2@127.0.0.1/file.bin"],
    ]

    /// A URL with a mistake in it holds its secrets all the same.
    @Test(arguments: malformed)
    func malformedURLs(arguments: [String]) async throws {
        try await home.leavePartial()
        let outcome = await home.run(arguments)
        #expect(outcome.status == (arguments[0] == "get" ? .usage : .notFound))
        do {
            expectNothing(in: outcome.errors)
        }
    }

    private static let misplaced = [
        ["http://me:hunter2@127.0.0.1/file.bin"],
        ["show", "http://127.0.0.1/a", "http://me:hunter2@127.0.0.1/file.bin"],
    ]

    /// The same for arguments that do not belong where they stand.
    @Test(arguments: misplaced)
    func misplacedURLs(arguments: [String]) async throws {
        let outcome = await home.run(arguments)
        #expect(outcome.status == .usage)
        do {
            expectNothing(in: outcome.errors)
        }
    }
}
