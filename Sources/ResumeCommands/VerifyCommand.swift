internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeMaintenance
internal import ResumeStore

/// The command `resumectl verify`.
struct VerifyCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check database rows against files, and bytes against checksums.",
        discussion: """
            Exits with status 65 if a problem was found and not repaired.

            EXAMPLE:
              resumectl verify
              resumectl verify --repair
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(
        help: ArgumentHelp("Keys or URLs of the entries to check. Default: the whole store.", valueName: "key-or-url"))
    var keys: [String] = []

    @Flag(name: .long, help: "Remove damaged data and keep the rest.")
    var repair = false

    @Flag(name: .long, help: "Print one JSON object per problem.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let findings = try await context.withStore(storeOptions.store) { store in
            var names: Set<String> = []
            for key in keys { names.insert(try await store.entry(named: key, context).key) }
            return try await store.verify(keys: keys.isEmpty ? nil : names, repairing: repair)
        }
        for finding in findings { context.print(json ? Self.json(finding).text : Self.line(finding)) }
        if findings.isEmpty && !json { context.print("no problems found") }
        let left = findings.filter { !$0.isRepaired }
        guard left.isEmpty else {
            let advice = repair ? "" : ". Run 'resumectl verify --repair' to remove damaged data and keep the rest."
            let count = Rendering.problems(left.count)
            throw CommandFailure(
                .damaged,
                "\(count) found\(repair ? " that could not be repaired" : "")\(advice)"
            )
        }
    }

    static func line(_ finding: Finding) -> String {
        let key = finding.key.map { " \(Redaction.key($0)):" } ?? ""
        return
            "\(finding.kind.rawValue):\(key) \(Printable.escaped(finding.detail))\(finding.isRepaired ? " (repaired)" : "")"
    }

    private static func json(_ finding: Finding) -> JSON {
        .object([
            "detail": .string(finding.detail), "key": .optional(finding.key), "kind": .string(finding.kind.rawValue),
            "repaired": .bool(finding.isRepaired),
        ])
    }
}

/// The command `resumectl stats`.
struct StatsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Show the number of entries and the size of the store.",
        discussion: "EXAMPLE:\n  resumectl stats --json")

    @OptionGroup var storeOptions: StoreOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let (totals, free, path) = try await context.withStore(storeOptions.store) { store in
            (try await store.totals(), try store.freeSpace(), store.path)
        }
        guard !json else {
            let members: [String: JSON] = [
                "entries": .integer(totals.entries), "freeBytes": .integer(free), "path": .string(path),
                "receivedBytes": .integer(totals.receivedBytes),
            ]
            context.print(JSON.object(members).text)
            return
        }
        context.print("store:   \(Printable.escaped(path))")
        context.print("entries: \(totals.entries)")
        context.print("stored:  \(ByteCount.text(totals.receivedBytes))")
        context.print("free:    \(ByteCount.text(free)) on the same file system")
    }
}

/// The command `resumectl completions`.
struct CompletionsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "completions", abstract: "Print a completion script for a shell.",
        discussion: "EXAMPLE:\n  resumectl completions bash > /etc/bash_completion.d/resumectl")

    enum Shell: String, ExpressibleByArgument, CaseIterable {
        case bash, zsh, fish
    }

    @Argument(help: "Shell to print the script for.")
    var shell: Shell

    func run(_ context: CommandContext) async throws {
        let kind: CompletionShell =
            switch shell {
            case .bash: .bash
            case .zsh: .zsh
            case .fish: .fish
            }
        context.print(ResumeCtl.completionScript(for: kind))
    }
}
