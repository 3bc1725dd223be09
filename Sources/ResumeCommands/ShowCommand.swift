internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl show`.
struct ShowCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an entry: validators, received bytes, history.",
        discussion: """
            If no entry has this key or URL, the entry is shown whose destination is this path, or the only one whose \
            URL, key or destination contains this text.

            EXAMPLE:
              resumectl show https://example.org/image.iso
              resumectl show image.iso
            """)

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let (entry, events) = try await context.withStore(storeOptions.store) { store in
            let entry = try await store.entry(matching: self.entry.name, context)
            return (entry, try await store.events(for: entry.key))
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
