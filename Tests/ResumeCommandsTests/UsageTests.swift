import ArgumentParser
import OriginServer
@testable import ResumeCommands
import Testing

/// Command lines that are wrong end with 64, before anything is touched.
@Suite(.timeLimit(.minutes(20)))
struct UsageTests {
    private let home = Home()

    private static let url = "http://127.0.0.1:9/file.bin"

    private static let wrongOfGet: [[String]] = [
        [],
        ["--no-such-option", url],
        ["not a url"],
        ["file.bin"],
        ["ftp://127.0.0.1/file.bin"],
        ["http:///file.bin"],
        ["http://127.0.0.1:99999/file.bin"],
        ["http://127.0.0.1:9/", "--directory", "."],
        ["http://127.0.0.1:9/a/", "--directory", "."],
        [url, "--output", "/a", "--directory", "b"],
        ["host:99999/file.bin"],
        ["./file.bin"],
        ["/file.bin"],
        [url, "\(url)2", "--output", "a"],
        [url, "\(url)2", "--key", "a"],
        [url, "\(url)2", "--sha256", String(repeating: "0", count: 64)],
        [url, "--key", ""],
        [url, "--sha256", "0123"],
        [url, "--sha256", String(repeating: "g", count: 64)],
        [url, "--sha512", String(repeating: "0", count: 64)],
        [url, "--sha256", String(repeating: "0", count: 64), "--sha512", String(repeating: "0", count: 128)],
        [url, "--output", "-", "--directory", "."],
        [url, "--output", "-", "--json"],
        [url, "-o-", "--skip-existing"],
        [url, "\(url)2", "--output", "-"],
        [url, "--range", "9-5"],
        [url, "--range", "items=0-1"],
        [url, "--range="],
        [url, "--condition", "if-none-match"],
        [url, "--head-url", url],
        [url, "--condition", "head", "--head-url", "ftp://127.0.0.1/"],
        [url, "\(url)2", "--condition", "head", "--head-url", url],
        [url, "--accept-encoding", ""],
        [url, "--header", "no colon"],
        [url, "--header", "Two words: value"],
        [url, "--header", ": value"],
        [url, "--header", "X-Line: a\r\nX-Other: b"],
        [url, "--header", "Range: bytes=0-"],
        [url, "--header", "range: bytes=0-"],
        [url, "--header", "If-Range: \"v1\""],
        [url, "--header", "If-Match: \"v1\""],
        [url, "--header", "Accept-Encoding: gzip"],
        [url, "--max-concurrent", "0"],
        [url, "--max-concurrent", "65"],
        [url, "--retries", "-1"],
        [url, "--retries=-1"],
        [url, "--retries", "many"],
        [url, "--stall-timeout", "0"],
        [url, "--stall-timeout", "nan"],
        [url, "--connect-timeout", "0"],
        [url, "--connect-timeout", "inf"],
        [url, "--limit-rate", "0"],
        [url, "--limit-rate", "fast"],
        [url, "--max-size=-1"],
        [url, "--max-size", "1  GB"],
    ]

    private static let shown = [
        "not a url": "not an absolute URL", "file.bin": "not an absolute URL",
        "ftp://127.0.0.1/file.bin": "ftp://127.0.0.1/…: the scheme 'ftp'",
        "http:///file.bin": "the URL has no valid host",
        "host:99999/file.bin": "not an absolute URL", "./file.bin": "not an absolute URL",
        "/file.bin": "not an absolute URL",
        "http://127.0.0.1:99999/file.bin": "http://127.0.0.1/…: the URL has no valid host",
    ]

    @Test(arguments: wrongOfGet)
    func get(arguments: [String]) async throws {
        let outcome = await home.run(["get"] + arguments).expect(.usage)
        #expect(outcome.output.isEmpty)
        // The message says what is wrong, and no store is made for it.
        #expect(outcome.errors.contains(Self.subject(of: arguments)), "\(outcome.errors)")
        #expect(try home.names().isEmpty)
    }

    /// What the message is about: the last option, or the URL, of which only scheme and host are shown.
    private static func subject(of arguments: [String]) -> String {
        let option = arguments.last { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
        switch option {
        // The URL names no file.
        case "--directory" where arguments.count == 3: return arguments[0]
        case "--remote-header-name": return "--auto-rename"
        case "--stall-timeout", "--connect-timeout": return "timeout"
        default: return option ?? shown[arguments.last ?? ""].map { "argument 1: \($0)" } ?? arguments.last ?? "url"
        }
    }

    private static let wrongConnections: [[String]] = [
        ["-4", "-6"], ["-k", "--cacert", "f"], ["--resolve", "a:80"], ["--resolve", "a:80:b"], ["--cert"], ["-x", "8"],
        ["--resolve", "a:x:::1"], ["--resolve", "a:80:127.0.0.1,"], ["--max-time", "0"], ["--hold"], ["--keep"],
        ["--digest", "--anyauth"], ["--tls-max", "1.1"], ["--private-key", "f"], ["-E", "f", "--key", "k.pem"],
        ["-x", "p", "--socks5-hostname", "q"],
    ]

    @Test("Wrong values and combinations of options that exist", arguments: wrongConnections)
    func connections(options: [String]) async throws {
        await home.run(["get", Self.url] + options).expect(.usage, hides: "nknown option")
        #expect(try home.names().isEmpty)
    }

    private static let wrong: [[String]] = [
        ["frobnicate"],
        ["--no-such-option"],
        ["list", "superfluous"],
        ["list", "--sort", "colour"],
        ["list", "--match", ""],
        ["list", "--limit", "0"],
        ["list", "--limit", "-1"],
        ["list", "--state", "paused"],
        ["list", "--older-than", "7"],
        ["show"],
        ["show", "one", "two"],
        ["purge"],
        ["purge", "--dry-run"],
        ["purge", "--json"],
        ["purge", "--all", "key"],
        ["purge", "key", "--yes"],
        ["verify", "--dry-run"],
        ["purge", "--all", "--older-than", "7d"],
        ["purge", "--larger-than", "much"],
        ["gc", "superfluous"],
        ["gc", "--max-size"],
        ["verify", "--no-such-option"],
        ["stats", "superfluous"],
        ["log", "one", "two"],
        ["pin"],
        ["unpin"],
        ["completions"],
        ["completions", "tcsh"],
        ["list", "--store", ""],
        ["list", "--store"],
    ]

    @Test(arguments: wrong)
    func others(arguments: [String]) async throws {
        let outcome = await home.run(arguments).expect(.usage)
        #expect(outcome.output.isEmpty)
        #expect(!outcome.errors.isEmpty)
        #expect(try home.names().isEmpty)
    }

    private static let mistyped = [
        "gett": "get", "gte": "get", "et": "get", "GET": "get", "lst": "list", "lits": "list", "shwo": "show",
        "purg": "purge", "comp": "completions", "verfy": "verify", "verifiy": "verify", "dcotor": "doctor",
        "unpn": "unpin",
    ]

    @Test("The command that was probably meant is suggested", arguments: mistyped.keys.sorted())
    func suggestion(typed: String) async throws {
        for arguments in [[typed], [typed, "http://127.0.0.1:9/a", "--json"]] {
            let outcome = await home.run(arguments).expect(.usage)
            let text = "unknown command '\(typed)'; did you mean '\(Self.mistyped[typed] ?? "")'?"
            #expect(outcome.errors.contains(text), "\(outcome.errors)")
        }
    }

    @Test(
        "Nothing is suggested for a text that is not similar", arguments: ["frobnicate", "x", "--lst", "getlistshow"])
    func noSuggestion(typed: String) async throws {
        await home.run(typed).expect(.usage, hides: "did you mean '")
    }

    @Test("A text that is no command is answered with the commands, and a URL with the one that downloads it")
    func unknownCommand() async throws {
        let outcome = await home.run("frobnicate")
        #expect(outcome.errors.contains("unknown command 'frobnicate'; the commands are get, resume, adopt, jobs, "))
        await home.run("https://user:word@example.org/file?token=secret1")
            .expect(says: "to download a URL, run 'resumectl get URL'", hides: "secret1", "word")
        await home.run("--frobnicate").expect(says: "nknown option '--frobnicate'")
    }

    private static let unknown: [([String], String)] = [
        (["--foo", "x", "-o", "y", url], "--foo'"), (["-o", "y", "--foo", "x", url], "--foo'"),
        (["--outptu=y", url], "--outptu'; did you mean '--output'?"), (["-sW", url], "-W'"),
        (["-LOf", "-o", "y", url, "-W"], "-W'"),
        (["-P", "dir", "--limt-rate", "5M", url, "-o", "y"], "--limt-rate'; did you mean '--limit-rate'?"),
    ]

    @Test("An option that does not exist is named, whatever else its value seems to be", arguments: unknown)
    func unknownOption(arguments: [String], text: String) async throws {
        let outcome = await home.run(["get"] + arguments).expect(.usage)
        #expect(outcome.errors.hasPrefix("Error: unknown option '\(text)\n"), "\(outcome.errors)")
    }

    @Test("A list without -i, curl's -O, and a digest with its name are understood")
    func understood() async throws {
        try home.write("".utf8, to: "urls.txt")
        await home.run("get", home["urls.txt"]).expect(.usage, says: "to read URLs from it, use -i")
        let server = try await home.serve(Sample.whole)
        let folder = ["get", "-o", home["new/er/x.bin"], "--create-dirs", "-fsSL", server.url()]
        #expect(await home.run(folder).status == .success && home.has("new/er/x.bin"))
        let host = "127.0.0.1:\(server.port)/one.bin"
        let one = await home.run("get", "-LO", host, "-P", home["one"])
        #expect(one.status == .success && home.has("one/one.bin"), "\(one.errors)")
        let wrong = "sha256:" + String(repeating: "0", count: 64)
        let digest = await home.run("get", server.url(), "-o", home["d.bin"], "--sha256", wrong)
        #expect(digest.status == .refused && !home.has("d.bin"), "\(digest.errors)")
    }

    @Test(
        "Words for commands in other programs", arguments: [("download", "get"), ("rm", "purge"), ("status", "jobs")])
    func synonyms(word: String, command: String) async throws {
        let outcome = await home.run(word)
        let text = "unknown command '\(word)'; use 'resumectl \(command)'"
        #expect(outcome.status == .usage && outcome.errors.contains(text), "\(outcome.errors)")
    }

    @Test("Values that look like options are not taken for unknown ones")
    func valuesLikeOptions() async throws {
        for rest in [["--range", "-500"], ["-C", "-"], ["-P", "dir", "--", "-x"], ["-o-"], ["-H", "-: a b"]] {
            let outcome = await home.run(["get", Self.url, "\(Self.url)2", "--key", "a"] + rest)
            #expect(outcome.status == .usage && !outcome.errors.contains("unknown option"), "\(outcome.errors)")
        }
    }

    @Test("A number of connections in place of a proxy")
    func connectionsForProxy() async throws {
        for arguments in [["-x", "4"], ["-x4"], ["--proxy", "16"]] {
            let outcome = await home.run(["get", Self.url] + arguments)
            let number = arguments.last?.drop { !$0.isNumber } ?? ""
            #expect(outcome.status == .usage && outcome.errors.contains("use --connections \(number)\n"))
        }
    }

    @Test("A short option and its value may be one argument")
    func attachedValues() async throws {
        let arguments = ["-j65", "-ofile", "-Pfolder", "-HA: b", "-ilist"]
        for (index, argument) in arguments.enumerated() {
            // The option is understood, and what is wrong is the number of downloads or its combination.
            let rest = index == 0 ? [] : ["-j65"]
            let outcome = await home.run(["get", Self.url, argument] + rest).expect(.usage)
            let isExpected =
                outcome.errors.contains("--max-concurrent must be") || outcome.errors.contains("exactly one")
            #expect(isExpected, "\(argument): \(outcome.errors)")
        }
        await home.run("log", "-n0").expect(.success)
        await home.run("log", "-n-1").expect(.usage)
    }

    @Test("Errors say what to use instead")
    func advice() async throws {
        try home.write("".utf8, to: "a file")
        let cases: [([String], String)] = [
            (["-o", "newdir/", Self.url], "--output requires a file; use --directory (-P)"),
            (["-P", home["a file"], Self.url], "a file: it is not a folder. Use --output (-o)"),
            (["--limit-rate", "0", Self.url], "use a rate such as 500k, 2M or 1.5MiB/s, in bytes per second"),
            ([Self.url, "file:///etc/passwd"], "argument 2: the scheme 'file' is not supported; use http or https"),
            ([Self.url, "s3://bucket/key"], "argument 2: s3://bucket/…: the scheme 's3' is not supported"),
            (["http://127.0.0.1:9/"], "argument 1: http://127.0.0.1:9/ does not contain a file name"),
            (["user:word"], "argument 1: not an absolute URL"),
        ]
        for (arguments, text) in cases {
            await home.run(["get"] + arguments).expect(arguments[0] == "-P" ? .cannotCreate : .usage, says: text)
        }
        let times = await home.run("log", "--since", "1h", "--until", "2h")
        #expect(times.status == .usage && times.errors.contains("--since must be earlier than --until"))
        await home.run("log", "--since", "2h", "--until", "1h").expect(.success)
    }

    @Test func messagesSayWhatWouldBeRight() async throws {
        await home.run("purge").expect(says: "--all")
        await home.run("get", Self.url, "--header", "Range: bytes=0-").expect(says: "Range")
        await home.run("list", "--sort", "colour").expect(says: "'used'", "'size'")
        await home.run("get", "http://127.0.0.1:9/").expect(says: "--output")
    }

    @Test func thereMustBeAPlaceForTheStore() async throws {
        await home.run("list", environment: [:]).expect(.usage, says: "RESUMECTL_STORE")
    }

    @Test func placeOfTheStore() async throws {
        await home.run("list", "--store", "http://127.0.0.1/store").expect(.usage, says: "--store requires the path")
        await home.run(["list"], environment: ["RESUMECTL_STORE": "http://127.0.0.1/store"])
            .expect(.usage, says: "RESUMECTL_STORE requires the path")
    }

    /// The argument that is wrong is named, not the value of an option that reads the same.
    @Test func positionOfAnArgument() async throws {
        await home.run("get", "--key", "wrong", "wrong").expect(.usage, says: "argument 3: ")
    }

    @Test("No command has two options of one name")
    func names() {
        for command in ResumeCtl.configuration.subcommands {
            let names = CommandShape(of: [command]).arguments.flatMap(\.texts)
            #expect(!names.isEmpty || command == CompletionsCommand.self)
            #expect(Dictionary(grouping: names) { $0 }.values.allSatisfy { $0.count == 1 }, "\(command)")
        }
    }
}
