import Foundation
@testable import ResumeCommands
import Testing

/// Help, version and completions.
@Suite(.timeLimit(.minutes(20)))
struct HelpTests {
    private let home = Home()

    private static let commands = [
        "get", "list", "show", "purge", "gc", "set", "verify", "stats", "log", "pin", "unpin", "doctor", "config",
        "completions",
    ]

    @Test("A missing argument is named, with the usage of its command and not all of the help")
    func missingArgument() async {
        for command in ["pin", "unpin", "show", "adopt", "completions", "set"] {
            for arguments in [[command], [command, "--json"]] {
                let outcome = await home.run(arguments).expect(.usage)
                #expect(outcome.errors.hasPrefix("Error: "), "\(arguments): \(outcome.errors)")
                #expect(outcome.errors.contains("Usage: resumectl \(command) "), "\(outcome.errors)")
                #expect(outcome.errors.contains("See 'resumectl \(command) --help'"), "\(outcome.errors)")
                #expect(outcome.errors.split(separator: "\n").count <= 6, "\(outcome.errors)")
            }
        }
    }

    @Test("The help of the program fits 50 rows, and names the exit statuses")
    func helpOfProgram() async {
        let help = await home.run("--help")
        #expect(help.lines.count <= 50 && help.output.contains("EXIT STATUS:"), "\(help.output)")
    }

    @Test("Without arguments, eight lines end in the two commands that most people need")
    func start() async throws {
        let outcome = await home.run([]).expect(.success)
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count == 8 && lines.allSatisfy { $0.count <= 80 }, "\(outcome.output)")
        #expect(lines.suffix(2) == ["  resumectl get https://example.org/image.iso", "  resumectl resume"])
    }

    @Test func overview() async throws {
        for arguments in [["--help"], ["-h"], ["help"]] {
            let outcome = await home.run(arguments).expect(.success)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.output.contains("EXAMPLE"))
            for command in Self.commands { #expect(outcome.output.contains("\n  \(command)"), "\(command)") }
        }
        #expect(try home.names().isEmpty)
    }

    @Test(arguments: commands)
    func ofACommand(command: String) async throws {
        for arguments in [[command, "--help"], [command, "-h"], ["help", command]] {
            let outcome = await home.run(arguments).expect(.success)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.output.contains("EXAMPLE:\n  resumectl \(command)"))
            #expect(outcome.output.contains("USAGE: resumectl \(command)"))
            #expect(outcome.output.split(separator: "\n").allSatisfy { $0.count <= 120 })
        }
    }

    private static let optionsOfGet = [
        "--output", "--directory", "--key", "--sha256", "--sha512", "--range", "--condition", "--head-url",
        "--accept-encoding",
        "--allow-unvalidated", "--http2", "--cacert", "--header", "--max-concurrent", "--input-file", "--retries",
        "--stall-timeout", "--connect-timeout", "--limit-rate", "--restart", "--max-size", "--no-progress", "--json",
        "--quiet", "--verbose", "--store",
    ]

    @Test func optionsOfGetAreAllThere() async throws {
        let outcome = await home.run("get", "--help-hidden")
        for name in Self.optionsOfGet { #expect(outcome.output.contains(name), "\(name)") }
    }

    @Test("The help of get fits a screen of 50 lines and 80 columns, in groups, with examples and exit statuses")
    func helpOfGet() async throws {
        let outcome = await home.run("get", "--help")
        let lines = outcome.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 51 && lines.allSatisfy { $0.count <= 80 }, "\(lines.count)")
        for title in [
            "EXAMPLE:", "EXIT STATUS: 0 done", "FILES:", "CHECKS:", "REQUESTS:", "OPTIONS:", "--help-hidden",
            "--overwrite", "--auto-rename",
        ] {
            #expect(outcome.output.contains(title), "\(title)")
        }
    }

    /// What `--experimental-dump-help` prints, as far as it is in the table of options.
    private struct Dump: Decodable {
        struct Command: Decodable {
            let commandName: String
            let arguments: [Argument]?
            let subcommands: [Command]?
        }

        struct Argument: Decodable {
            struct Name: Decodable {
                let name: String
            }

            let names: [Name]?
            let valueName: String?
            let shouldDisplay: Bool
            let abstract: String?

            /// The line without the command, and with a name of the value, which is that of the option if there is none.
            var line: String {
                let name = names?.first { $0.name.count > 1 }?.name ?? valueName ?? ""
                return "\(shouldDisplay ? "" : ".")\(name) \(valueName ?? name): \(abstract ?? "")"
            }
        }

        let command: Command
    }

    @Test("Each option has a line in the table of options, and each line an option")
    func options() async throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
        let file = root.appendingPathComponent("Sources/ResumeCommands/Usage/Texts/options.txt")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: ": ", maxSplits: 1)
            let words = parts[0].split(separator: " ")
            let name = words[0].drop { $0 == "." }.split(separator: "/").last ?? ""
            let text = parts.count > 1 ? parts[1] : ""
            return "\(line.hasPrefix(".") ? "." : "")\(name) \(words.count > 1 ? words[1] : name): \(text)"
        }
        let dump = try JSONDecoder().decode(
            Dump.self, from: Data(await home.run("--experimental-dump-help").output.utf8))
        // The parser's own are described by itself.
        let commands = (dump.command.subcommands ?? []).filter { $0.commandName != "help" }
        let options = commands.flatMap { $0.arguments ?? [] }.filter { argument in
            !["Show help information.", "Show the version."].contains(argument.abstract)
        }.map(\.line)
        #expect(Set(options).subtracting(lines).sorted() == [], "options without a line")
        #expect(Set(lines).subtracting(options).sorted() == [], "lines without an option")
        #expect(Set(lines).count == lines.count, "two lines for the same")
    }

    @Test("The commands are listed in groups")
    func groups() async throws {
        let titles = ["DOWNLOAD", "INSPECT", "REMOVE AND KEEP", "MAINTAIN"].map { "\($0) SUBCOMMANDS:" }
        let lines = await home.run("--help").lines
        let places = titles.compactMap { lines.firstIndex(of: $0) }
        #expect(places.count == 4 && places == places.sorted(), "\(lines.joined(separator: "\n"))")
    }

    @Test("In a narrow terminal, no word is broken", arguments: ["files", "errors", "environment", "get", "gc", ""])
    func narrow(name: String) async throws {
        let arguments = ["help"] + (name.isEmpty ? [] : [name])
        let whole = await home.run(arguments)
        let narrow = await home.run(arguments, outputWidth: 44)
        func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }
        #expect(words(whole.output) == words(narrow.output))
        #expect(narrow.lines.allSatisfy { $0.count <= 44 || words($0).count == 1 }, "\(narrow.output)")
        #expect(whole.lines.contains { $0.count > 44 } && narrow.lines.count > whole.lines.count)
    }

    @Test("Texts are broken between words, below their columns, and commands are kept whole")
    func wrapped() async throws {
        let texts: [(String, Int, String)] = [
            ("short", 10, "short"), ("one two three", 8, "one two\nthree"),
            ("  one two three", 8, "  one\n  two\n  three"),
            ("key    first second third", 16, "key    first\n       second\n       third"),
            ("run 'a b c' now", 9, "run\n'a b c'\nnow"), ("run 'aaa  bbb ccc' now", 9, "run\n'aaa  bbb ccc'\nnow"),
            ("a\u{3000}b c\u{A0}d", 5, "a\u{3000}b\nc\u{A0}d"),
            ("averylongword next", 8, "averylongword\nnext"), ("漢字 漢字", 6, "漢字\n漢字"),
            ("don't break it", 11, "don't break\nit"), ("a\n\nb c d", 3, "a\n\nb c\nd"),
        ]
        for (text, width, expected) in texts { #expect(Terminal.wrapped(text, to: width) == expected) }
        let narrow = await home.run("get", "ftp://127.0.0.1/file.bin", width: 40)
        #expect(narrow.status == .usage && narrow.errors.split(separator: "\n").allSatisfy { $0.count <= 40 })
    }

    @Test("Topics that belong to no command", arguments: ["exit-status", "environment", "files", "errors"])
    func topics(name: String) async throws {
        let outcome = await home.run("help", name)
        #expect(outcome.status == .success && outcome.errors.isEmpty && outcome.lines.count > 5)
        #expect(outcome.lines.allSatisfy { $0.count <= 110 })
        await home.run("help").expect(prints: "help \(name)")
        let marks = [
            "exit-status": "130  Interrupted", "environment": "RESUMECTL_CONFIG ", "files": "~/.netrc ",
            "errors": "404 Not Found ",
        ]
        #expect(outcome.output.contains(marks[name] ?? "?"))
        guard name == "exit-status" else { return }
        for way in ["--overwrite", "--auto-rename", "-o "] { #expect(outcome.output.contains(way)) }
    }

    @Test("Help on something that does not exist is an error with the topics")
    func unknownTopic() async throws {
        await home.run("help", "404").expect(.usage, says: "there is no help on '404'; the topics are exit-")
        await home.run("help", "ls").expect(.success)
    }

    @Test func version() async throws {
        let outcome = await home.run("--version").expect(.success)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }

    @Test(arguments: [
        ("bash", "complete -o default -F"), ("zsh", "#compdef resumectl"), ("fish", "complete -c resumectl"),
    ])
    func completions(shell: String, mark: String) async throws {
        let outcome = await home.run("completions", shell).expect(.success)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.contains(mark), "\(outcome.output.prefix(400))")
        #expect(try home.names().isEmpty)
    }
}
