internal import ArgumentParser
internal import ResumeHTTP
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
        name: .long, help: ArgumentHelp("Only entries not used for this long, such as 12h or 7d.", valueName: "time"))
    var olderThan: TimeSpan?

    @Option(name: .long, help: "Sort by last use, size or creation time.")
    var sort: Order = .used

    func run(_ context: CommandContext) async throws {
        let entries = try await context.withStore(storeOptions.store) { store in try await store.entries() }
        let now = CurrentTime.milliseconds
        let chosen = entries.filter { entry in
            (match?.matches(entry) ?? true) && (olderThan.map { now - entry.usedAt > $0.seconds * 1000 } ?? true)
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

/// The command `resumectl show`.
struct ShowCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show one entry in detail: validators, received bytes and history.",
        discussion: """
            EXAMPLE:
              resumectl show https://example.org/image.iso
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Key or URL of the entry.", valueName: "key-or-url"))
    var key: String

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let (entry, events) = try await context.withStore(storeOptions.store) { store in
            let entry = try await store.entry(named: key, context)
            return (entry, try await store.events(key: entry.key))
        }
        guard json else {
            for line in Rendering.lines(entry) { context.print(line) }
            for event in events.suffix(20) { context.print(Rendering.line(event, withKey: false)) }
            return
        }
        guard case .object(var members) = Rendering.json(entry) else { return }
        members["contentType"] = .optional(entry.representation?.contentType)
        members["validator"] = .optional(entry.representation?.validator.map { "\($0)" })
        members["events"] = .array(events.suffix(20).map(Rendering.json))
        context.print(JSON.object(members).text)
    }
}

/// The command `resumectl log`.
struct LogCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show why downloads were resumed, restarted or removed.",
        discussion: """
            EXAMPLE:
              resumectl log
              resumectl log --json https://example.org/image.iso
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Only events of this entry, even if it has been removed.", valueName: "key-or-url"))
    var key: String?

    @Flag(name: .long, help: "Print one JSON object per event.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let events = try await context.withStore(storeOptions.store) { store in
            guard let key else { return try await store.events() }
            let events = try await store.events(key: key)
            guard events.isEmpty else { return events }
            if let entry = try? await store.entry(named: key, context) { return try await store.events(key: entry.key) }
            guard let url = try? DownloadURL(key) else { return [] }
            return try await store.events(key: url.redacted)
        }
        for event in events {
            context.print(json ? Rendering.json(event).text : Rendering.line(event, withKey: key == nil))
        }
        if events.isEmpty && !json { context.say("no events are recorded") }
    }
}

extension DownloadStore {
    /// Returns the entry that a user names by its key or a URL.
    func entry(named name: String, _ context: CommandContext) async throws -> Entry {
        if let entry = try await entry(key: name) { return entry }
        if let url = try? DownloadURL(name) {
            if let entry = try await entry(key: url.redacted) { return entry }
            // Entries with a custom key can also be named by their URL.
            if let entry = try await entries().last(where: { $0.url == url.redacted }) { return entry }
        }
        throw StoreError(
            .noEntry, "there is no entry \(context.shown(name))",
            advice: "Run 'resumectl list' to show all entries.")
    }
}

extension Glob {
    func matches(_ entry: Entry) -> Bool {
        matches(entry.key) || matches(entry.url)
    }
}
