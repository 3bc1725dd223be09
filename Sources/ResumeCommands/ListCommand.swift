internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl list`.
struct ListCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the entries of the store, least recently used first.",
        discussion: """
            EXAMPLE:
              resumectl list
              resumectl list --match '*example.org*' --older-than 7d --sort size
              resumectl list --json
            """,
        aliases: ["ls"])

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case used, size, created
    }

    @OptionGroup var storeOptions: StoreOptions

    @Flag(name: .long, help: "Print one JSON object per entry.")
    var json = false

    @Option(
        name: .long,
        help: ArgumentHelp("Only entries whose key or URL matches; * and ? are wildcards.", valueName: "glob"))
    var match: Glob?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Only entries not used for this long, such as 12h or 7d.", valueName: "time"),
        transform: TimeSpan.argument)
    var olderThan: TimeSpan?

    @Option(name: .long, help: "Sort by last use, size or creation time.")
    var sort: Order = .used

    func run(_ context: CommandContext) async throws {
        let entries = try await context.withStore(storeOptions.store) { store in try await store.entries() }
        let now = CurrentTime.milliseconds
        let chosen = entries.filter { entry in
            (match?.matches(entry) ?? true) && (olderThan.map { entry.isUnused(for: $0, now: now) } ?? true)
        }
        let sorted =
            switch sort {
            case .used: chosen
            case .size: chosen.sorted { $0.receivedBytes > $1.receivedBytes }
            case .created: chosen.sorted { $0.createdAt < $1.createdAt }
            }
        for entry in sorted { context.print(json ? Rendering.json(entry).text : Rendering.line(entry)) }
        if sorted.isEmpty && !json { context.say(entries.isEmpty ? "the store is empty" : "no entry matches") }
    }
}
