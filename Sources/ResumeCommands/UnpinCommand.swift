internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl unpin`.
struct UnpinCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Include a pinned entry in automatic removal and gc again.",
        discussion: "EXAMPLE:\n  resumectl unpin https://example.org/image.iso")

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Key or URL of the entry.", valueName: "key-or-url"))
    var key: String

    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions.store) { store in
            _ = try await store.setPinned(false, key: try await store.entry(named: key, context).key)
        }
    }
}
