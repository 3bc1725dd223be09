import OriginServer
@testable import ResumeCommands
import Testing

/// L03: nothing that a server, a file name or a planted row holds reaches a terminal as more than text.
///
/// Each run of a command is held against this; see `Outcome.check`.
@Suite(.timeLimit(.minutes(20)))
struct ControlCharacterTests {
    private let home = Home()

    /// Clears the screen, rings, sets the title; the same by one character of C1; turns text around; hides.
    private static let nasty = [
        "\u{1B}[2J", "\u{7}", "\u{1B}]0;title\u{7}", "\u{9B}31m", "\u{202E}gpj.", "\u{2066}x\u{2069}", "\u{200B}",
        "\u{7F}", "\u{8}\u{8}", "\u{2028}", "\u{E0041}", "\u{FEFF}",
    ]

    /// Shows all that the store holds, and more of some entries.
    private func lookAround(_ keys: [String] = []) async {
        let looks = [
            ["list"], ["log", "-n0"], ["verify"], ["doctor"], ["gc", "--dry-run"], ["purge", "--all", "--dry-run"],
        ]
        for look in looks {
            await home.run(look)
            await home.run(look + ["--json"])
        }
        for key in keys {
            for look in [["show", key], ["show", key, "--json"], ["log", key]] { await home.run(look) }
        }
    }

    @Test("L03: the fields of an answer", arguments: nasty)
    func fields(text: String) async throws {
        let fields: [(String, String)] = [
            ("ETag", "\"v\(text)1\""), ("Content-Type", "text/\(text)"), ("Last-Modified", "Mon\(text)"),
            ("Repr-Digest", text), ("X-\(text)", "1"),
        ]
        var keys: [String] = []
        for field in fields {
            let server = try await home.serve {
                .file(Sample.resource, for: $0, cutAfter: 100_000).settingField(field.0, to: field.1)
            }
            let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0"]
            let outcome = await home.run(get + ["--verbose"])
            #expect(outcome.status == .tryAgain, "\(field)")
            await home.run(get + ["--json"])
            keys.append(server.url())
        }
        await lookAround(keys)
    }

    @Test(arguments: nasty)
    func reasonPhrase(text: String) async throws {
        for status in ["404 Not\(text) Found", "503 \(text)", "206 \(text)", "302 \(text)"] {
            let server = try await home.serve { _ in .status(status) }
            let get = ["get", server.url(), "-o", home["out.bin"], "--retries", "0"]
            #expect(await [.refused, .tryAgain].contains(home.run(get).status))
            await home.run(get + ["--json"])
        }
        await lookAround()
    }

    @Test func redirect() async throws {
        for text in Self.nasty {
            let server = try await home.serve { _ in
                .status("302 Found", fields: [("Location", "http://127.0.0.1:9/\(text)")])
            }
            let outcome = await home.run("get", server.url(), "-o", home["out.bin"], "--retries", "0")
            #expect([.refused, .tryAgain].contains(outcome.status), "\(text.debugDescription)")
            #expect(!home.has("out.bin"))
        }
        await lookAround()
    }

    /// A file name is written as it is and shown escaped.
    @Test(arguments: nasty)
    func fileNames(text: String) async throws {
        let name = "a\(text)b.bin"
        try await home.leavePartial(options: ["--key", name])
        let server = try await home.serve(Sample.whole)
        await home.run("get", server.url(), "--output", home[name]).expect(.success)
        #expect(home.has(name))
        await home.run("get", server.url(), "--output", home[name], "--json", "--verbose")
        await lookAround([name])
        await home.run("pin", name)
        await home.run("purge", name)
    }

    /// The name that a URL gives the file in a folder.
    @Test func namesFromURLs() async throws {
        let names = ["%1B%5B2J.bin", "%07.bin", "%C2%9B31m.bin", "%E2%80%AEgpj.bin", "%E2%80%8B.bin"]
        let server = try await home.serve(Sample.whole)
        for name in names {
            let outcome = await home.run("get", server.url("/\(name)"), "--directory", home.path)
            #expect([.success, .usage].contains(outcome.status), "\(name)")
        }
        // C0 is refused by the URL; the rest of what no person can read in a listing ought to be as well.
        let made = try home.names().joined()
        #expect(!made.contains("\u{1B}") && !made.contains("\u{7}"))
        #expect(!made.unicodeScalars.contains("\u{202E}"))
        #expect(!made.unicodeScalars.contains("\u{9B}"))
    }

    @Test func plantedRows() async throws {
        for (index, text) in Self.nasty.enumerated() {
            try await home.leavePartial("\(index).bin", held: 50_000)
            try await home.sql(
                """
                UPDATE download SET key = 'k\(index)\(text)', url = 'http://h/\(text)', etag = '"\(text)"',
                last_modified = '\(text)', content_type = '\(text)', destination = '/\(text)' WHERE id = \(index + 1);
                UPDATE event SET key = 'k\(text)', kind = 'refused', reason = 'c\(text): because \(text)'
                WHERE kind <> 'refused';
                UPDATE chunk SET path = 'blobs/\(text)' WHERE download = \(index + 1);
                UPDATE queued SET terms = json_set(ifnull(terms, '{}'), '$.needs', json_array('\(text)', 'X-\(text)'));
                """)
            let jobs = await home.run("jobs", "--all")
            #expect(jobs.lines.count == index + 1 && jobs.lines.allSatisfy { $0.contains("[needs ") })
            await home.run("jobs", outputWidth: 100).expect(prints: "  needs ")
            await home.run("resume").expect(.refused)
        }
        await lookAround(Self.nasty.enumerated().map { "k\($0)\($1)" })
        #expect(await home.run("list", "--json").lines.count == Self.nasty.count)
        await home.run("verify", "--json").expect(.damaged)
        #expect(await home.run("verify", "--repair").lines.count >= Self.nasty.count)
    }

    /// What a user types comes back in messages, and may have been pasted.
    @Test func argumentsThatComeBack() async throws {
        let text = "\u{1B}[31mx"
        let clean = [
            ["get", text], ["get", "http://127.0.0.1:9/\(text)"], ["get", "--input-file", home[text]],
            ["get", "\(text)://127.0.0.1/a"],
        ]
        for arguments in clean { #expect(await home.run(arguments).status != .success) }
        let bare = [
            ["show", "x", "--store", home[text]], ["get", "http://127.0.0.1:9/a", "--output", home["\(text)/a"]],
            ["list", "--sort", text], [text], ["list", "--\(text)"], ["gc", "--max-size", text],
        ]
        for arguments in bare {
            #expect(await home.run(arguments).status != .success, "\(arguments)")
        }
    }
}
