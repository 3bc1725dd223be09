import ArgumentParser
import ResumeStore

struct PinCommand: ContextCommand {
    static let configuration = CommandConfiguration("pin")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("entry")) var name: String

    func run(_ context: CommandContext) async throws { try await storeOptions.pin(true, name, context) }
}

struct UnpinCommand: ContextCommand {
    static let configuration = CommandConfiguration("unpin")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("entry")) var name: String

    func run(_ context: CommandContext) async throws { try await storeOptions.pin(false, name, context) }
}

extension StoreOptions {
    /// Pins or unpins an entry of the store.
    fileprivate func pin(_ isPinned: Bool, _ name: String, _ context: CommandContext) async throws {
        try await context.withStore(self) { store in
            let key = try await store.entry(matching: name, context).key
            _ = try await store.setPinned(isPinned, for: key)
            // A part of a name may have been given.
            context.say("\(isPinned ? "pinned" : "unpinned"): \(Redaction.key(key))")
        }
    }
}
