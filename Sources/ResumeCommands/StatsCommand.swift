import ArgumentParser
import ResumeHTTP
import ResumeStore

/// The command `resumectl stats`.
struct StatsCommand: ContextCommand {
    static let configuration = CommandConfiguration("stats")

    @OptionGroup var storeOptions: StoreOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let path = try context.storePath(storeOptions.store)
        let known = try await context.withExistingStore(storeOptions) { store in
            (totals: try await store.totals(), free: try store.freeSpace(), path: store.path)
        }
        let entries = known?.totals.entries ?? 0
        let received = known?.totals.receivedBytes ?? 0
        guard !json else {
            context.print([
                "entries": entries, "freeBytes": known?.free,
                "path": known?.path ?? path, "receivedBytes": received,
            ])
            return
        }
        context.print("store:   \(known?.path ?? path)\(known == nil ? " (not created yet)" : "")")
        context.print("entries: \(entries)")
        context.print("stored:  \(ByteCount.text(received))")
        if let known { context.print("free:    \(ByteCount.text(known.free)) on the same file system") }
    }
}
