internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl list`.
struct ListCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the entries of the store.",
        usage: "resumectl list [<options>]",
        discussion: """
            A terminal shows a table that fits its width, with long URLs shortened in the middle, and the totals. \
            Other programs get one line per entry with its whole URL, in columns separated by two or more spaces: \
            state, received bytes of the total, time since the last use, URL.

            EXAMPLE:
              resumectl list
              resumectl list --match '*example.org*' --older-than 7d --sort size --limit 10
              resumectl list --json
            """,
        aliases: ["ls"])

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case used, size, received, url, created
    }

    enum State: String, ExpressibleByArgument, CaseIterable {
        case partial, complete
    }

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var conditions: EntryConditions

    @Flag(name: .long, help: "Print one JSON object per entry.")
    var json = false

    @Option(name: .long, help: "Only entries in this state.")
    var state: State?

    @Option(
        name: .long,
        help:
            "Sort by last use or creation (newest first), size of the file or received bytes (largest first), or URL.")
    var sort: Order = .used

    @Flag(name: .long, help: "Sort in reverse order.")
    var reverse = false

    @Option(name: .long, help: ArgumentHelp("Only the first entries of the sorted list.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1") }
    }

    func run(_ context: CommandContext) async throws {
        let entries = try await context.withExistingStore(storeOptions.store) { try await $0.entries() } ?? []
        let now = CurrentTime.milliseconds
        let chosen = entries.filter { entry in
            conditions.select(entry, now: now)
                && (state.map { entry.state.rawValue == $0.rawValue } ?? true)
        }
        let shown = Array(sorted(chosen).prefix(limit ?? .max))
        if json {
            for entry in shown { context.print(Rendering.json(entry).text) }
            return
        }
        for line in EntryTable(entries: shown, width: context.outputWidth).lines { context.print(line) }
        guard shown.isEmpty else { return }
        if !entries.isEmpty { return context.say("no entry matches") }
        if context.outputWidth != nil { context.say("the store is empty: there are no partial downloads") }
    }

    /// Sorts entries, which are given in the order of their last use, oldest first.
    private func sorted(_ entries: [Entry]) -> [Entry] {
        let result: [Entry] =
            switch sort {
            case .used: entries.reversed()
            case .size: entries.sorted { Self.size($0) > Self.size($1) }
            case .received: entries.sorted { $0.receivedBytes > $1.receivedBytes }
            case .url: entries.sorted { ($0.url, $0.key) < ($1.url, $1.key) }
            case .created: entries.sorted { $0.createdAt > $1.createdAt }
            }
        return reverse ? result.reversed() : result
    }

    /// The size of the file, and the received bytes for files of the same size.
    private static func size(_ entry: Entry) -> (Int64, Int64) {
        (entry.totalBytes ?? entry.receivedBytes, entry.receivedBytes)
    }
}
