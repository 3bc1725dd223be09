internal import ArgumentParser
internal import ResumeStore

/// The command `resumectl purge`.
struct PurgeCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Remove selected entries and their data.",
        usage: """
            resumectl purge [--store <dir>] [--dry-run] [--json] <key-or-url> ...
            resumectl purge [--store <dir>] [--dry-run] [--json] --all
            resumectl purge [--store <dir>] [--dry-run] [--json] [<key-or-url> ...]
              [--older-than <time>] [--larger-than <size>] [--match <glob>]
            """,
        discussion: """
            Entries in use are skipped and reported. If several conditions are given, an entry must meet all of them.

            EXAMPLE:
              resumectl purge https://example.org/image.iso
              resumectl purge --older-than 7d --larger-than 1GiB --dry-run
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Keys or URLs of the entries to remove.", valueName: "key-or-url"))
    var keys: [String] = []

    @Flag(name: .long, help: "Remove all entries.")
    var all = false

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Only entries not used for this long, such as 12h or 7d.", valueName: "time"),
        transform: TimeSpan.argument)
    var olderThan: TimeSpan?

    @Option(
        name: .long, parsing: .unconditional,
        help: ArgumentHelp("Only entries larger than this, such as 500k or 1.5GiB.", valueName: "size"),
        transform: ByteCount.argument)
    var largerThan: ByteCount?

    @Option(
        name: .long,
        help: ArgumentHelp("Only entries whose key or URL matches; * and ? are wildcards.", valueName: "glob"))
    var match: Glob?

    @Flag(name: .long, help: "Print what would be removed without removing it.")
    var dryRun = false

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func validate() throws {
        let hasCondition = olderThan != nil || largerThan != nil || match != nil
        if keys.isEmpty && !all && !hasCondition {
            throw ValidationError("specify what to remove: keys or URLs, --all, --older-than, --larger-than or --match")
        }
        if all && (!keys.isEmpty || hasCondition) {
            throw ValidationError("--all cannot be combined with keys or conditions")
        }
    }

    func run(_ context: CommandContext) async throws {
        let now = CurrentTime.milliseconds
        let (keys, olderThan, largerThan, match) = (keys, olderThan, largerThan, match)
        let (report, unknown) = try await context.withStore(storeOptions.store) { store in
            var names: Set<String> = []
            var unknown: [String] = []
            for key in keys {
                if let entry = try? await store.entry(named: key, context) {
                    // A URL stands for all variants of its download.
                    names.insert(entry.key == key ? key : entry.name)
                } else {
                    unknown.append(key)
                }
            }
            let chosen = names
            let report = try await store.purge(dryRun: dryRun) { entry in
                (keys.isEmpty || chosen.contains(entry.key) || chosen.contains(entry.name))
                    && (olderThan.map { entry.isUnused(for: $0, now: now) } ?? true)
                    && (largerThan.map { entry.receivedBytes > $0.bytes } ?? true) && (match?.matches(entry) ?? true)
            }
            return (report, unknown)
        }
        if json {
            context.print(Rendering.json(report, dryRun: dryRun).text)
        } else {
            for line in Rendering.lines(report, dryRun: dryRun) { context.print(line) }
        }
        if !unknown.isEmpty {
            throw CommandFailure(.refused, "there is no entry \(unknown.map(context.shown).joined(separator: ", "))")
        }
        if report.removed.isEmpty {
            throw CommandFailure(
                .refused, report.inUse.isEmpty ? "no entry matches" : "all matching entries are in use")
        }
    }
}
