import Foundation
@testable import ResumeCommands
import TestSupport
import Testing

/// What the program answers to a shell that completes a word.
@Suite(.timeLimit(.minutes(20)))
struct CompletionTests {
    private let home = Home()

    /// The answer for fish: its kind, what stays of the word, and the words without their meanings.
    private func answer(_ words: String...) async -> [String] {
        let outcome = await home.run(["---complete", "fish"] + words)
        #expect(outcome.status == .success && outcome.errors.isEmpty, "\(outcome.errors)")
        return outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { line in
            String(line.prefix { $0 != "\t" })
        }
    }

    private static let commands = [
        "get", "resume", "adopt", "jobs", "cancel", "forget", "list", "show", "purge", "gc", "verify", "stats", "log",
        "pin", "unpin", "doctor", "completions",
    ]

    @Test("Commands, with their abstracts, and those of help")
    func commands() async throws {
        let names = await answer("")
        #expect(Set(Self.commands).isSubset(of: names.dropFirst(2)) && names.prefix(2) == ["words", ""])
        #expect(names.last == "help" && names.filter { $0.hasPrefix("-") }.isEmpty)
        #expect(await answer("help", "li") == names.dropLast() + ["exit-status", "environment", "files", "errors"])
        #expect(await answer("-") == ["words", "", "--version", "-h", "--help"])
        let outcome = await home.run("---complete", "fish", "pi")
        #expect(outcome.output.contains("\npin\tExclude an entry from automatic removal and gc.\n"))
        #expect(await answer("nothing", "") == ["words", ""])
    }

    @Test("Options that the help shows, without those that were given")
    func options() async throws {
        let options = await answer("get", "-")
        #expect(options.contains("--output") && options.contains("-o") && options.contains("--header"))
        // Shown by --help-hidden only.
        #expect(
            !options.contains("--from") && !options.contains("--checksum")
                && !options.contains("--accept-encoding"))
        let rest = await answer("get", "-o", "file", "--header", "A: b", "--json", "-q", "--")
        let given = ["--output", "-o", "--json", "-q", "--quiet"]
        #expect(rest.allSatisfy { !given.contains($0) } && rest.contains("-H"))
        // Its value cannot begin with a dash, so an option follows.
        #expect(await answer("get", "--output", "--") == options.filter { !["-o", "--output"].contains($0) })
        for command in Self.commands { #expect(await answer(command, "--h").contains("--help"), "\(command)") }
    }

    @Test(
        "Files, folders and words where they belong",
        arguments: [
            (["get", "--output", ""], ["files", ""]), (["get", "-o", "x"], ["files", ""]),
            (["get", "-qo", "x"], ["files", ""]), (["get", "--output=x"], ["files", "--output="]),
            (["get", "-P", ""], ["folders", ""]), (["list", "--store=/"], ["folders", "--store="]),
            (["get", "--netrc-file", ""], ["files", ""]), (["adopt", ""], ["files", ""]),
            (["list", "--state", ""], ["words", "", "partial", "complete"]),
            (["ls", "--state", ""], ["words", "", "partial", "complete"]),
            (["list", "--state=par"], ["words", "--state=", "--state=partial", "--state=complete"]),
            (["completions", ""], ["words", "", "bash", "zsh", "fish"]),
            (["completions", "bash", ""], ["words", ""]), (["list", ""], ["words", ""]),
            (["get", "--condition", ""], ["words", "", "if-range", "if-match", "head"]),
            (["get", "--retries", ""], ["words", ""]), (["get", "--retries=", ""], ["words", ""]),
            (["pin", "--", "-"], ["words", ""]), (["show", "a", ""], ["words", ""]),
            (["list", "--json=x"], ["words", ""]),
        ])
    func values(words: [String], expected: [String]) async throws {
        let outcome = await home.run(["---complete", "fish"] + words)
        #expect(outcome.status == .success && outcome.output == expected.map { "\($0)\n" }.joined(), "\(words)")
        #expect(try home.names().isEmpty)
    }

    @Test("Keys, URLs and destinations of entries in the states that a command needs")
    func entries() async throws {
        let first = try await home.leavePartial("first.iso")
        let second = try await home.leavePartial("second.iso", options: ["--key", "mine"])
        await home.run("pin", "mine")
        await home.run("---complete", "fish", "show", "").expect(prints: "\n\(first)\t195.3 KiB of 293.0 KiB\n")
        let paths = [home["first.iso"], home["second.iso"]]
        for command in ["show", "purge", "verify", "log"] {
            #expect(await answer(command, "") == ["words", "", first, "mine"], "\(command)")
            #expect(await answer(command, home["f"]) == ["words", "", paths[0]], "\(command)")
        }
        #expect(await answer("pin", "") == ["words", "", first])
        #expect(await answer("unpin", "") == ["words", "", "mine"])
        #expect(await answer("unpin", home.path) == ["words", "", paths[1]])
        #expect(await answer("purge", "mine", "m") == ["words", "", "mine"])
        #expect(Set(await answer("get", "ht").dropFirst(2)) == [first, second])
        #expect(await answer("show", "--store", home["other"], "") == ["words", ""])
        #expect(await answer("show", "--store", home.store, "m") == ["words", "", "mine"])
        #expect(
            await home.run("---complete", "fish", "show", "--store=~/store", "m", environment: ["HOME": home.path])
                .output == "words\n\nmine\t195.3 KiB of 293.0 KiB\n")
        let short = await home.run(
            "---complete", "fish", "show", "~/f", environment: ["HOME": home.path, "RESUMECTL_STORE": home.store])
        #expect(short.output.hasPrefix("words\n\n~/first.iso\t"))
    }

    @Test("Jobs that are left to do, and for forget all of them")
    func jobs() async throws {
        let first = try await home.leavePartial("first.iso")
        let second = try await home.leavePartial("second.iso")
        await home.run("cancel", second)
        for command in ["resume", "cancel"] {
            #expect(await answer(command, "h") == ["words", "", first], "\(command)")
            #expect(await answer(command, home.path) == ["words", "", home["first.iso"]], "\(command)")
        }
        #expect(Set(await answer("forget", "h").dropFirst(2)) == [first, second])
    }

    /// The answer for bash.
    private func bash(_ line: String, _ replaced: String) async -> String {
        await home.run("---complete", "bash", line, replaced).output
    }

    @Test("Bash: words are split and quoted as bash does, and only what it replaces is answered")
    func bash() async throws {
        #expect(await bash("resumectl sh", "sh") == "words\nshow\n")
        #expect(await bash("A=b  resumectl\tlist --state=c", "c") == "words\ncomplete\n")
        #expect(await bash("resumectl list --state=c", "--state=c") == "words\n--state=complete\n")
        #expect(await bash("resumectl get -o 'a b", "a b") == "files\n")
        #expect(await bash("resumectl get -P a\\ b", "a\\ b") == "folders\n")
        let url = try await home.leavePartial("a&b;c.iso")
        let key = await home.run("list", "--json")
        #expect(try key.object["key"]?.string == url)
        let host = String(url.dropFirst("http:".count).prefix { $0 != "&" })
        #expect(await bash("resumectl show http:", "") == "words\n\(host)\\&b\\;c.iso\n")
        #expect(await bash("resumectl show http:\(host)\\&b", "\(host)\\&b") == "words\n\(host)\\&b\\;c.iso\n")
        #expect(await bash("resumectl show \"http:\(host)", "http:\(host)") == "words\n\(url)\n")
        #expect(await bash("resumectl show 'http:\(host)&", "http:\(host)&") == "words\n\(url)\n")
        #expect(await bash("resumectl show nothing", "nothing") == "words\n")
        #expect(await bash("", "") == "words\n" + answer("").dropFirst(2).map { "\($0)\n" }.joined())
        try await home.sql("UPDATE download SET key = '$it''s \"', destination = NULL")
        #expect(await bash("resumectl show ", "") == "words\n\\$it\\'s\\ \\\"\n")
        #expect(await bash("resumectl show '", "") == "words\n$it'\\''s \"\n")
        #expect(await bash("resumectl show \"", "") == "words\n\\$it's \\\"\n")
        #expect(await bash("resumectl show \"\\$it's", "\\$it's") == "words\n\\$it's \\\"\n")
    }

    @Test("Bash reads each name as it is, also where combining marks and other letters follow what it interprets")
    func quoting() async throws {
        try await home.leavePartial()
        for mark in ["", "\u{301}", "\u{D4E}"] {
            for name in [
                "a\(mark)$(touch \(home["ran"]))b", "a\"\(mark);touch \(home["ran"])'\(mark)",
                "a\(mark);\\\(mark)`x`!b",
            ] {
                let digits = name.utf8.map { String(format: "%02x", $0) }.joined()
                try await home.sql("UPDATE download SET destination = NULL, key = CAST(x'\(digits)' AS TEXT)")
                for quote in ["", "\"", "'"] {
                    let answer = await bash("resumectl show \(quote)", "")
                    let word = try #require(answer.split(separator: "\n").last, "\(name)")
                    let read = try await Shell.run("bash", "-c", "set +H; printf %s \(quote)\(word)\(quote)")
                    #expect(Array(read.utf8) == Array(name.utf8), "\(quote)\(word)")
                }
                #expect(!home.has("ran"))
            }
        }
    }

    @Test("Names with control characters are not offered, and requests that are not understood have no answer")
    func refused() async throws {
        try await home.leavePartial()
        try await home.sql("UPDATE download SET key = 'a' || char(27) || 'b', destination = 'c' || char(10) || 'd'")
        #expect(await answer("show", "") == ["words", ""])
        for arguments in [[], ["tcsh", "show", ""], ["bash", "resumectl show"]] {
            let outcome = await home.run(["---complete"] + arguments)
            #expect(outcome.status == .success && outcome.output.isEmpty && outcome.errors.isEmpty, "\(arguments)")
        }
    }

    @Test("zsh: colons are escaped, and beginnings of names are marked")
    func zsh() async throws {
        let url = try await home.leavePartial("first.iso")
        let escaped = url.replacing(":", with: "\\:")
        let outcome = await home.run("---complete", "zsh", "show", "h")
        #expect(outcome.output == "words\n\n=\(escaped):195.3 KiB of 293.0 KiB\n")
        try await home.sql(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
            INSERT INTO download (key, url, generation, state, created_at, used_at, boot_id)
            SELECT 'https://example.org/' || i, '', 1, 'partial', i, i, 'x' FROM n;
            """)
        #expect(await home.run("---complete", "zsh", "show", "https").output == "words\n\n-https\\://example.org/\n")
        #expect(await bash("resumectl show https", "https") == "parts\nhttps://example.org/\n")
    }
}
