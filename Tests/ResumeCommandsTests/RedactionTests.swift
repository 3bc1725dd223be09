import OriginServer
@testable import ResumeCommands
import Testing

/// L04: user info, signatures and secret fields are neither stored nor shown.
@Suite(.timeLimit(.minutes(20)))
struct RedactionTests {
    private let home = Home()

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
            await home.run(arguments).expect(.success)
        }
    }

    @Test("L04: the secrets of a URL") func urls() async throws {
        let server = try await home.serve(Sample.cutOnce)
        let url = server.url("/file.bin?\(Self.query)", user: "me:hunter2")
        let get = ["get", url, "--output", home["out.bin"], "--retries", "0", "--verbose"]
        await home.run(get + Self.headers).expect(.tryAgain)
        // The server needs them, so they are sent.
        let request = try #require(server.requests.first)
        #expect(request.target == "/file.bin?" + Self.query.replacing("#fragment", with: ""))
        #expect(request.field("Cookie") == "id=c00kie")
        let key = server.url("/file.bin?part=1")
        #expect(try await home.entry(key)?["url"]?.string == key)
        await look(url)
        try expectNothingStored()
        await home.run("purge", url).expect(.success)
        await home.run("log", url)
        try expectNothingStored()
        expectNothing(in: home.transcript)
    }

    @Test func events() async throws {
        let answers: [Response] = [
            .status("403 Forbidden"), .status("503 Service Unavailable"), Response([.reset]),
            .file(Sample.resource, for: OriginRequest(), cutAfter: 100_000),
            .file(Sample.resource, for: OriginRequest()),
        ]
        for answer in answers {
            let server = try await home.serve { _ in answer }
            let url = server.url("/file.bin?\(Self.query)", user: "me:hunter2")
            for option in ["--json", "--verbose"] {
                await home.run("get", url, "-o", home["out.bin"], "--retries", "0", option, width: 80)
            }
        }
        for text in ["403", "503", "\"finished\"", "/file.bin?part=1"] {
            #expect(home.transcript.contains(text), "the look must find what is there: \(text)")
        }
        expectNothing(in: home.transcript)
    }

    /// The signed place that a redirect leads to is as secret as one that the user gives.
    @Test func redirects() async throws {
        let server = try await home.serve(Sample.whole)
        let target = server.url("/signed/file.bin?\(Self.query)", user: "me:hunter2")
        server.setHandler { request in
            request.path == "/file.bin"
                ? .status("302 Found", fields: [("Location", target)])
                : .file(Sample.resource, for: request, cutAfter: 100_000)
        }
        let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0", "--verbose"]
        await home.run(get).expect(.tryAgain)
        await look(server.url())
        try expectNothingStored()
        server.setHandler { request in
            request.path == "/file.bin"
                ? .status("302 Found", fields: [("Location", target)]) : .status("403 Forbidden")
        }
        await home.run(get).expect(.refused)
        try expectNothingStored()
        expectNothing(in: home.transcript)
    }

    @Test func urlsThatCannotBeFetched() async throws {
        let unnamed = await home.run("get", "http://me:hunter2@127.0.0.1:9/?X-Amz-Signature=5ca1ab1e").expect(.usage)
        expectNothing(in: unnamed.errors)
        let absent = "http://me:hunter2@127.0.0.1:9/file.bin?X-Amz-Signature=5ca1ab1e"
        try await home.leavePartial()
        for command in ["show", "log", "verify", "pin", "purge"] {
            let outcome = await home.run(command, absent)
            let words = command == "log" ? "are recorded" : "127.0.0.1:9/file.bin"
            #expect(outcome.errors.contains(words), "\(command): \(outcome.errors)")
            expectNothing(in: outcome.errors)
        }
    }

    private static let malformed = [
        ["get", "ftp://me:hunter2@127.0.0.1/file.bin"],
        ["get", "htps://me:hunter2@127.0.0.1/file.bin?X-Amz-Signature=5ca1ab1e"],
        ["get", "http://me:hunter2@127.0.0.1:99999/file.bin"],
        ["get", "http://me:hunter2@127.0.0.1 9/a?X-Amz-Signature=5ca1ab1e"],
        ["show", "ftp://me:hunter2@127.0.0.1/file.bin"],
    ]

    /// A URL with a mistake in it holds its secrets all the same.
    @Test(arguments: malformed)
    func malformedURLs(arguments: [String]) async throws {
        try await home.leavePartial()
        let outcome = await home.run(arguments).expect(arguments[0] == "get" ? .usage : .notFound)
        expectNothing(in: outcome.errors)
    }

    /// Texts that are no URLs, and are refused as such: each holds a password or a token all the same.
    private static let noURLs = [
        "//me:hunter2@h/f", "me:hunter2@h/f", "http:me:hunter2@h/f", "h f?token=t0pSecret",
        "me/hunter2@h/f", "me:9/hunter2@h/f", "h:hunter2/f", "h:/f?token=t0pSecret",
        "/f;token=t0pSecret", "https:\\\\me:hunter2@h/f", "ftp://me:x/hunter2@h/f", "http://me:hunter2/f@h:x/",
        "http://me:hunter2@h:x/f", "AKIDEXAMPLE", "AKIDEXAMPLE:hunter2", "t0pSecret:x@h/f",
        "http//me:hunter2@h/f?token=t0pSecret", "ht tp://me:hunter2@h/f", "http://h:hunter2/f",
    ]

    private func expectNotEchoed(_ outcome: Outcome, _ text: String, at location: SourceLocation = #_sourceLocation) {
        expectNothing(in: outcome.errors + outcome.output, at: location)
        #expect(!(outcome.errors + outcome.output).contains(text), sourceLocation: location)
        #expect(!outcome.errors.lowercased().contains("akidexample"), sourceLocation: location)
        #expect(!outcome.errors.contains("me:") && !outcome.errors.contains("'me'"), sourceLocation: location)
    }

    @Test("Text that is refused as a URL is not echoed", arguments: noURLs)
    func refused(text: String) async throws {
        let argument = await home.run("get", "http://127.0.0.1:9/a", text).expect(.usage, says: "argument 2: ")
        expectNotEchoed(argument, text)
        try home.write("# a list\n\n\n\(text)\n".utf8, to: "list.txt")
        let listed = await home.run("get", "--input-file", home["list.txt"])
            .expect(.refused, says: "list.txt, line 4: ")
        expectNotEchoed(listed, text)
        let head = await home.run("get", "http://127.0.0.1:9/a", "--condition", "head", "--head-url", text)
            .expect(.usage, says: "--head-url")
        expectNotEchoed(head, text)
        #expect(!home.has("store"))
    }

    @Test("Neither is what names no entry", arguments: noURLs.filter { !$0.hasPrefix("AKIDEXAMPLE") })
    func unknownEntries(text: String) async throws {
        try await home.leavePartial()
        for command in ["show", "log", "verify", "pin", "unpin", "purge"] {
            let outcome = await home.run(command, text)
            if command != "log" {
                #expect(outcome.status == (command == "purge" ? .refused : .notFound))
                #expect(outcome.errors.contains("there is no entry "), "\(outcome.errors)")
            }
            expectNotEchoed(outcome, text)
        }
        let purge = await home.run("purge", "plain-name", text).expect(says: "there is no entry plain-name, ")
        expectNotEchoed(purge, text)
    }

    @Test("Nor is it in the messages of the argument parser", arguments: noURLs.filter { !$0.hasPrefix("AKIDEXAMPLE") })
    func parserMessages(text: String) async throws {
        let wrong = [
            [text], ["list", text], ["show", "one", text], ["log", "one", "two", text], ["list", "--sort", text],
            ["list", "--sort=\(text)"], ["list", "--json=\(text)"], ["list", "--\(text)"],
            ["get", "http://127.0.0.1:9/a", "--retries", text], ["get", "http://127.0.0.1:9/a", "--range", text],
            ["purge", "--older-than", text], ["list", "--\(text)=\(text)"], ["completions", text],
        ]
        for arguments in wrong {
            let outcome = await home.run(arguments).expect(.usage)
            expectNotEchoed(outcome, text)
        }
        // Where the letters after a dash include h, this is a call for help.
        expectNotEchoed(await home.run("list", "-u\(text)"), text)
    }

    @Test(
        "A word beside the URL may be a password",
        arguments: [["-H", "Authorization:", "Bearer", "tok.en-1234"], ["tok.en-1234"], ["-u", "me:", "tok.en-1234"]])
    func words(arguments: [String]) async throws {
        for rest in [["-o", home["f"]], []] {
            await home.run(["get"] + arguments + ["http://127.0.0.1:9/a"] + rest).expect(.usage, hides: "tok.en-1234")
        }
        await home.run("get", "-O", "tok.en-1234", "http://127.0.0.1:9/a").expect(.usage, hides: "tok.en-1234")
    }

    @Test("What is safe to show is shown")
    func safe() async throws {
        for (text, shown) in [
            ("ftp://me:hunter2@files.example.org:21/f", "argument 1: ftp://files.example.org/…: the scheme 'ftp'"),
            ("htps://h.example/f?token=t0pSecret", "argument 1: htps://h.example/…: the scheme 'htps'"),
            ("http://me:hunter2@h.example:99999/f", "argument 1: http://h.example/…: the URL has no valid host"),
            ("me:hunter2@h/f", "argument 1: not an absolute URL"),
        ] {
            let outcome = await home.run("get", text).expect(says: shown)
            expectNothing(in: outcome.errors)
        }
        await home.run("list", "superfluous").expect(says: "'superfluous'")
        await home.run("list", "me:hunter2@h/f").expect(says: "Unexpected argument 1\n")
    }

    @Test("A URL where a path belongs", arguments: ["--output", "--directory", "--input-file", "--cacert", "--store"])
    func urlsForPaths(option: String) async throws {
        let outcome = await home.run("get", "http://127.0.0.1:9/a", option, "http://me:hunter2@h/f?token=t0pSecret")
            .expect(.usage, says: "\(option) requires")
        expectNothing(in: outcome.errors)
    }

    @Test("G6: a key that is a URL is stored without its secrets, and found by any URL that differs in them")
    func keys() async throws {
        let key = "http://me:hunter2@keys.example/file.bin?part=1&X-Amz-Signature=5ca1ab1e&api-token=t0pSecret"
        try await home.leavePartial(options: ["--key", key])
        #expect(try await home.held("http://keys.example/file.bin?part=1") == Sample.cut)
        await look(key)
        await look(key.replacing("5ca1ab1e", with: "another"))
        try expectNothingStored()
        let again = key.replacing("5ca1ab1e", with: "another")
        await home.run("get", "http://127.0.0.1:9/file.bin", "-o", home["b"], "--key", again, "--retries", "0")
        #expect(await home.run("list", "--json").lines.count == 1)
        expectNothing(in: home.transcript)
        try await home.leavePartial(options: ["--key", "HTTP://Keys.example/#plain"])
        #expect(try await home.held("HTTP://Keys.example/#plain") == Sample.cut, "a key without secrets stays as it is")
    }

    @Test(arguments: noURLs.filter { ($0.contains("@") || $0.contains("token=")) && !$0.hasPrefix("me/") })
    func keysThatAreNoURLs(text: String) async throws {
        let outcome = await home.run("get", "http://127.0.0.1:9/a", "--key", text).expect(.usage, says: "--key")
        expectNotEchoed(outcome, text)
        #expect(!home.has("store"))
    }

    @Test("A long random string is part of the key, and shown in JSON only")
    func randomStrings() async throws {
        let random = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
        let url = try await home.leavePartial("file.bin?id=\(random)&part=1", options: ["--output", home["out.bin"]])
        #expect(try await home.held(url) == Sample.cut)
        for arguments in [["show", url, "--json"], ["log", "--json"], ["purge", url, "--dry-run", "--json"]] {
            await home.run(arguments).expect(prints: random)
        }
        let other = "http://127.0.0.1:9/file.bin?id=\(random)&part=1"
        let get = await home.run("get", other, "-o", home["b"], "--retries", "0")
        for outcome in [
            await home.run("list"), await home.run("show", url), await home.run("log"),
            await home.run("purge", url, "--dry-run"), get,
        ] {
            let text = outcome.output + outcome.errors
            #expect(text.contains("file.bin?id=1Bxi…&part=1"), "\(text)")
            #expect(!text.contains(random.dropFirst(4)))
        }
    }

    private static let misplaced = [
        ["http://me:hunter2@127.0.0.1/file.bin"],
        ["show", "http://127.0.0.1/a", "http://me:hunter2@127.0.0.1/file.bin"],
    ]

    /// The same for arguments that do not belong where they stand.
    @Test(arguments: misplaced)
    func misplacedURLs(arguments: [String]) async throws {
        let outcome = await home.run(arguments).expect(.usage)
        expectNothing(in: outcome.errors)
    }
}
