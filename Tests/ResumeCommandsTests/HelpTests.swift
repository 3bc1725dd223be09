import ResumeCommands
import Testing

/// Help, version and completions.
@Suite(.timeLimit(.minutes(20)))
struct HelpTests {
    private let home: Home

    init() throws { home = try Home() }

    private static let commands = [
        "get", "list", "show", "purge", "gc", "set", "verify", "stats", "log", "pin", "unpin", "doctor", "config",
        "completions",
    ]

    @Test func overview() async throws {
        for arguments in [["--help"], ["-h"], ["help"], []] {
            let outcome = await home.run(arguments)
            #expect(outcome.status == .success)
            #expect(outcome.errors.isEmpty)
            #expect(outcome.output.contains("EXAMPLE"))
            for command in Self.commands { #expect(outcome.output.contains("\n  \(command)"), "\(command)") }
        }
        #expect(try home.names().isEmpty)
    }

    @Test(arguments: commands)
    func ofACommand(command: String) async throws {
        for arguments in [[command, "--help"], [command, "-h"], ["help", command]] {
            let outcome = await home.run(arguments)
            #expect(outcome.status == .success)
            #expect(outcome.errors.isEmpty)
            do {
                #expect(outcome.output.contains("EXAMPLE:\n  resumectl \(command)"))
                #expect(outcome.output.contains("USAGE: resumectl \(command)"))
            }
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
        for title in ["EXAMPLE:", "EXIT STATUS: 0 done", "FILES:", "CHECKS:", "REQUESTS:", "OPTIONS:", "--help-hidden"]
        {
            #expect(outcome.output.contains(title), "\(title)")
        }
    }

    @Test("Topics that belong to no command", arguments: ["exit-status", "environment", "files", "errors"])
    func topics(name: String) async throws {
        let outcome = await home.run("help", name)
        #expect(outcome.status == .success && outcome.errors.isEmpty && outcome.lines.count > 5)
        #expect(outcome.lines.allSatisfy { $0.count <= 110 })
        #expect(await home.run("help").output.contains("help \(name)"))
        let marks = [
            "exit-status": "130  Interrupted", "environment": "RESUMECTL_CONFIG ", "files": "~/.netrc ",
            "errors": "404 Not Found ",
        ]
        let mark = marks[name]
        #expect(outcome.output.contains(mark ?? "?"))
    }

    @Test("Help on something that does not exist is an error with the topics")
    func unknownTopic() async throws {
        let outcome = await home.run("help", "404")
        #expect(outcome.status == .usage && outcome.errors.contains("there is no help on '404'; the topics are exit-"))
        #expect(await home.run("help", "ls").status == .success)
    }

    @Test func version() async throws {
        let outcome = await home.run("--version")
        #expect(outcome.status == .success)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
    }

    @Test(arguments: [
        ("bash", "complete -o default -F"), ("zsh", "#compdef resumectl"), ("fish", "complete -c resumectl"),
    ])
    func completions(shell: String, mark: String) async throws {
        let outcome = await home.run("completions", shell)
        #expect(outcome.status == .success)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.output.contains(mark), "\(outcome.output.prefix(400))")
        #expect(try home.names().isEmpty)
    }
}
