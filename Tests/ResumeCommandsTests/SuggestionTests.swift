import OriginServer
@testable import ResumeCommands
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Commands in messages, which users copy into a shell.
@Suite(.timeLimit(.minutes(20)))
struct SuggestionTests {
    private let home = Home()

    /// A name that runs a program in a shell that takes it as it is.
    private static let name = "x;$(touch pwn)`touch pwn`&|<*?[a]~#{b}! \"c\\.iso"
    private static let encoded =
        "/x%3B%24(touch%20pwn)%60touch%20pwn%60%26%7C%3C*%3F%5Ba%5D~%23%7Bb%7D!%20%22c%5C.iso"
        + "?a=1&b=$(touch$%7BIFS%7Dpwn)"

    /// Runs the commands of messages in a shell in which `resumectl` prints its arguments.
    private func words(_ text: String) async throws -> [[String]] {
        let commands = text.split(separator: "'resumectl ").dropFirst().map { part in
            String(part.prefix { $0 != "'" })
        }
        return try await commands.asyncMap { command in
            let script = "resumectl() { printf '%s\\n' \"$@\"; }; cd \(home.path); resumectl \(command)"
            let outcome = try await Shell.outcome("sh", ["-c", script])
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(command): \(outcome.errors)")
            return outcome.output.split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "A quoted word is one word for each shell, also inside the quotes of a message",
        arguments: ["sh", "bash", "zsh", "fish"].filter(Shell.has))
    func words(shell: String) async throws {
        let words = [
            "", "plain-1.0_x/y:z=@%+,", "a b", "a'b", "'", "''$(echo x)''", "a\"b", "a\\b", "$HOME", "`echo x`", "a;b",
            "a&b", "a|b", "<a>", "*", "?", "[a]", "{a,b}", "~", "#a", "!a", "ä \u{301}b", "x\u{A0}y", Self.name,
        ]
        let script = words.map { "printf '%s|' \(ShellWord.quoted($0))" }.joined(separator: "\n")
        let outcome = try await Shell.outcome(shell, ["-c", script])
        #expect(outcome.output == words.map { $0 + "|" }.joined(), "\(outcome.errors)")
        #expect(ShellWord.quoted("a\n\u{1B}b") == "a\\\\u\\{A\\}\\\\u\\{1B\\}b")
        guard shell != "fish" else { return }
        let copied = "cd \(home.path); 'x \(ShellWord.quoted("'$(touch pwn);touch pwn;'"))'"
        _ = try await Shell.outcome(shell, ["-c", copied])
        #expect(!home.has("pwn"))
    }

    @Test("They name a file or URL that a shell would interpret")
    func commands() async throws {
        let file = home[Self.name]
        let server = try await home.serve(Sample.cutOnce)
        let url = server.url(Self.encoded)
        let get = ["get", url, "-P", home.path, "--retries", "0"]
        await home.run(get).expect(.tryAgain)
        let purge = await home.run("purge", "--all", "--dry-run")
        #expect(try await words(purge.output) == [["resume"], ["forget", file]])
        server.setHandler { _ in .status("403 Forbidden") }
        let refused = await home.run(get)
        #expect(try await words(refused.errors) == [["resume", file, "--url"]], "\(refused.errors)")
        let cancelled = await home.run("cancel", file)
        let purged = try await words(cancelled.errors)
        #expect(purged.count == 1 && purged.first?.first == "purge", "\(cancelled.errors)")
        let command = try #require(purged.first)
        await home.run(command).expect(.success)
        // What other programs leave.
        server.setHandler(Sample.whole)
        try home.write(Sample.content.bytes(in: 0..<100_000), to: "part$(touch pwn)")
        let adopted = await home.run("adopt", home["part$(touch pwn)"], url, "-o", file)
        #expect(try await words(adopted.output) == [["resume", file]], "\(adopted.output)\(adopted.errors)")
        await home.run("purge", url).expect(.success)
        await home.run("forget", file).expect(.success)
        try home.write(Sample.content.bytes(in: 0..<100_000), to: Self.name)
        try home.write("".utf8, to: Self.name + ".aria2")
        let kept = await home.run(get).expect(.cannotCreate, says: "--from \(ShellWord.quoted(file)) continues it")
        #expect(try await words(kept.errors) == [["get", "--from", file]], "\(kept.errors)")
        let got = await home.run(get + ["--overwrite"]).expect(.success)
        let expected = [["get", "--from", file], ["get", "--restart", "--from", file, "-o", file]]
        #expect(try await words(got.errors) == expected, "\(got.errors)")
        #expect(!home.has("pwn"))
    }

    @Test("Each remedy of an error of the store has its words", arguments: StoreError.Remedy.allCases)
    func remedies(_ remedy: StoreError.Remedy) { #expect(remedy.command != remedy.text) }
}

extension Array {
    fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
