import ArgumentParser
import ResumeFiles
import ResumeStore

struct ListCommand: ContextCommand {
    static let configuration = CommandConfiguration("list", aliases: ["ls"])

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case used, size, received, url, created
    }

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var conditions: EntryConditions
    @Flag("list/json") var json = false
    @Option("format", transform: Format.argument) var format: Format?
    @Option("state") var state: Entry.State?
    @Option("sort") var sort: Order = .used
    @Flag("reverse") var reverse = false
    @Option("limit") var limit: Int?

    func validate() throws {
        try exclude(format != nil && json, "--format and --json")
        try refuse(limit ?? 1 < 1, "--limit must be at least 1")
    }

    func run(_ context: CommandContext) async throws {
        let found = try await context.withExistingStore(storeOptions) { store in
            let count = try await show(store, context)
            return (count: count, isEmpty: try await store.totals().entries == 0)
        }
        guard !json, found?.count ?? 0 == 0 else { return }
        if let found, !found.isEmpty { return context.say("no entry matches") }
        if context.outputWidth != nil { context.say("the store is empty: there are no partial downloads") }
    }

    /// Prints the chosen entries, and returns their number.
    private func show(_ store: DownloadStore, _ context: CommandContext) async throws -> Int {
        let now = WallClock.milliseconds
        var table = EntryTable(width: context.outputWidth) { context.print($0) }
        var count = 0
        for try await entry in EntrySequence(of: store, matching: query) where conditions.select(entry, now: now) {
            if json {
                context.print(Rendering.json(entry))
            } else if let format {
                context.output(format.line(for: entry) + "\n")
            } else {
                table.add(entry)
            }
            count += 1
            if count == limit { break }
        }
        if format == nil { table.end() }
        return count
    }

    private var query: EntryQuery {
        // The library's orders begin with the smallest value, those of this command with the most interesting one.
        let order: EntryQuery.Order =
            switch sort {
            case .used: .use
            case .size: .size
            case .received: .received
            case .url: .url
            case .created: .creation
            }
        return EntryQuery(
            order: order, isReversed: (sort != .url) != reverse, state: state)
    }
}

extension Entry.State: ExpressibleByArgument, CaseIterable {
    static let allCases: [Entry.State] = [.partial, .complete]
}
