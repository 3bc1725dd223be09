import ArgumentParser
import ResumeHTTP
import ResumeStore

struct StatsCommand: ContextCommand {
    static let configuration = CommandConfiguration("stats")

    @OptionGroup var storeOptions: StoreOptions
    @Flag("json") var json = false

    func run(_ context: CommandContext) async throws {
        let known = try await context.withExistingStore(storeOptions) { store in
            (totals: try await store.totals(), free: try store.freeSpace(), path: store.path)
        }
        let path = try known?.path ?? context.storePath(storeOptions.store)
        let entries = known?.totals.entries ?? 0
        let received = known?.totals.receivedBytes ?? 0
        guard !json else {
            return context.print([
                "entries": entries, "freeBytes": known?.free, "path": path, "receivedBytes": received,
            ])
        }
        context.print("store:   \(path)\(known == nil ? " (not created yet)" : "")")
        context.print("entries: \(entries)")
        context.print("stored:  \(ByteCount.text(received))")
        if let known { context.print("free:    \(ByteCount.text(known.free)) on the same file system") }
    }
}
