import ArgumentParser
import ResumeStore

/// The command `resumectl pin`.
struct PinCommand: ContextCommand {
    static let configuration = CommandConfiguration("pin")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument

    func run(_ context: CommandContext) async throws { try await entry.pin(true, in: storeOptions, context) }
}

/// The command `resumectl unpin`.
struct UnpinCommand: ContextCommand {
    static let configuration = CommandConfiguration("unpin")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument

    func run(_ context: CommandContext) async throws { try await entry.pin(false, in: storeOptions, context) }
}

extension EntryArgument {
    /// Pins or unpins the entry.
    fileprivate func pin(_ isPinned: Bool, in options: StoreOptions, _ context: CommandContext) async throws {
        try await context.withStore(options) { store in
            let key = try await store.entry(matching: name, context).key
            _ = try await store.setPinned(isPinned, for: key)
            // A part of a name may have been given.
            context.say("\(isPinned ? "pinned" : "unpinned"): \(Redaction.key(key))")
        }
    }
}
