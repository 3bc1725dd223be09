internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl pin`.
struct PinCommand: PinningCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Exclude an entry from automatic removal and gc.",
        discussion: "EXAMPLE:\n  resumectl pin https://example.org/image.iso")
    static let isPinned = true

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument
}

/// The command `resumectl unpin`.
struct UnpinCommand: PinningCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Include it in automatic removal and gc again.",
        discussion: "EXAMPLE:\n  resumectl unpin https://example.org/image.iso")
    static let isPinned = false

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument
}

/// A command that pins or unpins an entry.
protocol PinningCommand: ContextCommand {
    /// Whether the entry is pinned afterwards.
    static var isPinned: Bool { get }
    var storeOptions: StoreOptions { get }
    var entry: EntryArgument { get }
}

extension PinningCommand {
    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions.store) { store in
            let key = try await store.entry(matching: entry.name, context).key
            _ = try await store.setPinned(Self.isPinned, for: key)
            // A part of a name may have been given.
            context.say("\(Self.isPinned ? "pinned" : "unpinned"): \(Redaction.key(key))")
        }
    }
}
