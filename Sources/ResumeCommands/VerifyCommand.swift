internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl verify`.
struct VerifyCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Hold what is recorded against what is there.",
        discussion: """
            Ends with 65 where anything is wrong and was not repaired.

            EXAMPLE:
              resumectl verify
              resumectl verify --repair
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Only these entries.", valueName: "key-or-url"))
    var keys: [String] = []

    @Flag(name: .long, help: "Drop what is wrong and keep the rest.")
    var repair = false

    @Flag(name: .long, help: "One JSON object a finding.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let findings = try await context.withStore(storeOptions.store) { store in
            var names: Set<String> = []
            for key in keys { names.insert(try await store.entry(named: key).key) }
            return try await store.verify(keys: keys.isEmpty ? nil : names, repairing: repair)
        }
        for finding in findings { context.print(json ? Self.json(finding).text : Self.line(finding)) }
        if findings.isEmpty && !json { context.print("All is as recorded.") }
        let left = findings.filter { !$0.isRepaired }
        guard left.isEmpty else {
            let advice = repair ? "" : " 'resumectl verify --repair' drops what is wrong and keeps the rest."
            throw CommandFailure(
                .damaged, "\(left.count == 1 ? "One thing is" : "\(left.count) things are") not as recorded.\(advice)")
        }
    }

    private static func line(_ finding: Finding) -> String {
        let key = finding.key.map { " \(Printable.escaped($0)):" } ?? ""
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
        commandName: "stats", abstract: "Show how much the store holds.",
        discussion: "EXAMPLE:\n  resumectl stats --json")

    @OptionGroup var storeOptions: StoreOptions

    @Flag(name: .long, help: "One JSON object.")
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
        context.print("held:    \(ByteCount.text(totals.receivedBytes))")
        context.print("free:    \(ByteCount.text(free)) on its file system")
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

    @Argument(help: "The shell.")
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
