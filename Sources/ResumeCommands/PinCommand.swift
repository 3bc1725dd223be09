internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl pin`.
struct PinCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Exclude an entry from automatic removal and gc.",
        discussion: "EXAMPLE:\n  resumectl pin https://example.org/image.iso")

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Key or URL of the entry.", valueName: "key-or-url"))
    var key: String

    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions.store) { store in
            _ = try await store.setPinned(true, key: try await store.entry(named: key, context).key)
        }
    }
}
