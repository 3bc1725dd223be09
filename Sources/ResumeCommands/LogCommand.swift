internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

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
