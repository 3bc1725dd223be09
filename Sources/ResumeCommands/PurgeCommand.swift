import ArgumentParser
import ResumeFiles
import ResumeHTTP
import ResumeStore

struct PurgeCommand: ContextCommand {
    static let configuration = CommandConfiguration("purge")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("entries/entry")) var entries: [String] = []
    @OptionGroup var conditions: EntryConditions
    @Flag("purge/all") var all = false
    @Flag("include-pinned") var includePinned = false
    @Flag("yes") var yes = false
    @Option("larger-than") var largerThan: ByteCount?
    @Flag("dry-run") var dryRun = false
    @Flag("json") var json = false

    func validate() throws {
        let hasCondition = conditions.olderThan != nil || largerThan != nil || conditions.match != nil
        try refuse(entries.isEmpty && !all && !hasCondition, sentence("purge-nothing"))
        try refuse(yes && !all, "--yes requires --all")
        try exclude(all && (!entries.isEmpty || hasCondition), "--all", with: "entries or conditions")
    }

    /// The number of entries that --all removes without a question if there is no terminal.
    private static let mostUnasked = 100

    func run(_ context: CommandContext) async throws {
        var named = (entries: [Entry](), unknown: [String](), isDelivered: false)
        let report = try await context.withStore(storeOptions) { store in
            let now = WallClock.milliseconds
            let isChosen = { (entry: Entry) in
                largerThan.map { entry.receivedBytes > $0.bytes } ?? true && conditions.select(entry, now: now)
            }
            guard entries.isEmpty else {
                named = try await selected(in: store, context)
                let chosen = named.entries.filter(isChosen)
                return try await Collector(store).purge(chosen, keepingPinned: !includePinned, dryRun: dryRun)
            }
            let last = all && !yes && !dryRun ? try await confirm(in: store, context) : .max
            return try await Collector(store).purge(
                keepingPinned: !includePinned, dryRun: dryRun,
                // One object cannot be printed in parts.
                onBatch: json ? nil : { batch in Rendering.show(batch, dryRun: dryRun, context) }
            ) { $0.id <= last && isChosen($0) }
        }
        Rendering.finish(report, dryRun: dryRun, asJSON: json, context)
        if !named.unknown.isEmpty {
            let names = named.unknown.map(context.shown).joined(separator: ", ")
            throw CommandFailure(.refused, sentence("no-entry-of", names))
        }
        guard report.removedCount == 0, !named.isDelivered || report.inUseCount + report.pinnedCount > 0 else { return }
        let states = (report.inUseCount > 0 ? ["in use"] : []) + (report.pinnedCount > 0 ? ["pinned"] : [])
        // As with gc, nothing to do is no failure.
        guard !states.isEmpty else { return context.say("no entry matches") }
        let advice = states == ["pinned"] ? "; use --include-pinned to remove them" : ""
        throw CommandFailure(.refused, "all matching entries are \(states.joined(separator: " or "))\(advice)")
    }

    /// Returns the entries that the arguments stand for, the arguments for which there is none, and whether one of them
    /// is a file that was delivered.
    private func selected(
        in store: DownloadStore, _ context: CommandContext
    ) async throws -> (entries: [Entry], unknown: [String], isDelivered: Bool) {
        var found: [Entry] = []
        var unknown: [String] = []
        var isDelivered = false
        for name in entries {
            do {
                let entry = try await store.entry(matching: name, context)
                // A URL stands for all variants of its download.
                let isOne = entry.key == name && entry.key != entry.name
                let all = isOne ? [entry] : try await EntryReader(store).variants(ofKey: entry.name)
                found += all.filter { entry in !found.contains { $0.id == entry.id } }
            } catch let error as StoreError where error.code == .noEntry {
                guard let (record, _) = try await store.delivered(named: name) else {
                    unknown.append(name)
                    continue
                }
                isDelivered = true
                context.say(sentence("purge-delivered", record.path))
            }
        }
        return (found, unknown, isDelivered)
    }

    /// Asks whether to remove all entries.
    ///
    /// - Returns: The ID of the last entry that is meant.
    /// - Throws: ``CommandFailure`` if the answer is no, or if there are many and there is no terminal to ask in.
    private func confirm(in store: DownloadStore, _ context: CommandContext) async throws -> Int64 {
        var count = 0
        var bytes = Int64(0)
        var last = Int64(0)
        for try await entry in EntrySequence(of: store, matching: EntryQuery(order: .creation)) {
            last = entry.id
            guard !entry.isInUse, includePinned || !entry.isPinned else { continue }
            count += 1
            bytes = bytes.addingSaturating(entry.receivedBytes)
        }
        let what = "\(Rendering.entries(count)) with \(ByteCount.text(bytes))"
        guard let confirm = context.confirm else {
            guard count > Self.mostUnasked else { return last }
            throw CommandFailure(.usage, sentence("unconfirmed", what))
        }
        guard count == 0 || confirm("Remove \(what)?") else {
            throw CommandFailure(Task.isCancelled ? .interrupted : .refused, "nothing was removed")
        }
        return last
    }
}
