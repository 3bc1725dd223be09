#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ArgumentParser
internal import ResumeHTTP
internal import ResumeStore

/// The current time in the unit of the store.
enum CurrentTime {
    static var milliseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

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
        name: .long, help: ArgumentHelp("Only entries not used for this long, such as 12h or 7d.", valueName: "time"))
    var olderThan: TimeSpan?

    @Option(
        name: .long, help: ArgumentHelp("Only entries larger than this, such as 500KB or 10MiB.", valueName: "size"))
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
                    && (olderThan.map { now - entry.usedAt > $0.seconds * 1000 } ?? true)
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

/// The command `resumectl gc`.
struct GcCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "gc",
        abstract: "Apply the limits now: remove expired entries, then the least recently used.",
        discussion: """
            The default limits are 16GiB and 30 days. Entries that are in use or pinned are kept. Data files that \
            belong to no entry are removed as well.

            EXAMPLE:
              resumectl gc --max-size 10GB --max-age 7d
            """)

    @OptionGroup var storeOptions: StoreOptions

    @Option(name: .long, help: ArgumentHelp("Maximum size of the store, such as 500KB or 10MiB.", valueName: "size"))
    var maxSize: ByteCount?

    @Option(
        name: .long, help: ArgumentHelp("Remove entries not used for this long, such as 12h or 7d.", valueName: "time"))
    var maxAge: TimeSpan?

    @Flag(name: .long, help: "Print what would be removed without removing it.")
    var dryRun = false

    @Flag(name: .long, help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        let report = try await context.withStore(storeOptions.store) { store in
            try await store.collect(maximumSize: maxSize?.bytes, maximumAge: maxAge?.seconds, dryRun: dryRun)
        }
        if json {
            context.print(Rendering.json(report, dryRun: dryRun).text)
        } else {
            for line in Rendering.lines(report, dryRun: dryRun) { context.print(line) }
        }
    }
}

/// The command `resumectl pin`.
struct PinCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Exclude an entry from automatic removal and gc.",
        discussion: "EXAMPLE:\n  resumectl pin https://example.org/image.iso")

    @OptionGroup var storeOptions: StoreOptions

    @Argument(help: ArgumentHelp("Key or URL of the entry.", valueName: "key-or-url"))
    var key: String

    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions.store) { store in
            _ = try await store.setPinned(true, key: try await store.entry(named: key, context).key)
        }
    }
}

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
