internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl stats`.
struct StatsCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Show the number of entries and the size of the store.",
        discussion: "EXAMPLE:\n  resumectl stats --json")

    @OptionGroup var storeOptions: StoreOptions

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let (totals, free, path) = try await context.withStore(storeOptions.store) { store in
            (try await store.totals(), try store.freeSpace(), store.path)
        }
        guard !json else {
            let members: [String: JSON] = [
                "entries": .integer(totals.entries), "freeBytes": .integer(free), "path": .string(path),
                "receivedBytes": .integer(totals.receivedBytes),
            ]
            context.print(JSON.object(members).text)
            return
        }
        context.print("store:   \(Printable.escaped(path))")
        context.print("entries: \(totals.entries)")
        context.print("stored:  \(ByteCount.text(totals.receivedBytes))")
        context.print("free:    \(ByteCount.text(free)) on the same file system")
    }
}
