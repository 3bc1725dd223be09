internal import ArgumentParser
internal import ResumeStore

/// The options of every command that works on a store.
struct StoreOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Store, instead of RESUMECTL_STORE or the cache folder.", valueName: "dir"),
        completion: .directory)
    var store: String?

    @Option(
        name: .long,
        help: ArgumentHelp("Maximum size of the store (default: 16GiB).", valueName: "size", visibility: .hidden),
        transform: ByteCount.argument)
    var storeMaxSize: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Remove entries not used for this long (default: 30d).", valueName: "time", visibility: .hidden),
        transform: TimeSpan.argument)
    var storeMaxAge: TimeSpan?
}

/// The argument of commands that work on one entry.
struct EntryArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Key, URL, destination, or a part of them that no other entry has.", valueName: "entry"))
    var name: String
}

/// The arguments of commands that work on several entries.
struct EntryArguments: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Keys, URLs, destinations, or parts of them that no other entry has.", valueName: "entry"))
    var names: [String] = []
}

/// The conditions that select entries.
struct EntryConditions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp("Only entries whose key or URL matches; * and ? are wildcards.", valueName: "glob"))
    var match: Glob?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Only entries not used for this long, such as 12h or 7d.", valueName: "time"),
        transform: TimeSpan.argument)
    var olderThan: TimeSpan?

    /// Whether an entry meets the conditions.
    func select(_ entry: Entry, now: Int64) -> Bool {
        (match?.matches(entry) ?? true) && (olderThan.map { entry.isUnused(for: $0, now: now) } ?? true)
    }
}

/// A command that runs in a context, so that tests can run it in their process.
protocol ContextCommand: ParsableCommand {
    func run(_ context: CommandContext) async throws
}
