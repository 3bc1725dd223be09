import ArgumentParser
import ResumeFiles
import ResumeHTTP
import ResumeStore

struct LogCommand: ContextCommand {
    static let configuration = CommandConfiguration("log")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("log/entry")) var key: String?
    @Flag("log/json") var json = false
    @Option("n number") var count = 50
    @Option("log/since") var since: PointInTime?
    @Option("until") var until: PointInTime?
    @Option("reason") var reason: String?
    @Flag("f follow") var follow = false

    func validate() throws {
        try exclude(follow && until != nil, "--follow and --until")
        try require(count >= 0, "--number must not be negative; 0 prints all events")
        let now = WallClock.milliseconds
        if let since, let until, since.milliseconds(now: now) >= until.milliseconds(now: now) {
            throw ValidationError(sentence("since-until"))
        }
    }

    func run(_ context: CommandContext) async throws {
        let events =
            try await context.withExistingStore(storeOptions) { try await recorded(in: $0, context) } ?? []
        let now = WallClock.milliseconds
        let start = since?.milliseconds(now: now) ?? .min
        let end = until?.milliseconds(now: now)
        let chosen = events.filter { event in
            event.at >= start && (end.map { event.at < $0 } ?? true) && isOfReason(event)
        }
        let shown = count == 0 ? chosen : chosen.suffix(count)
        let showsKeys = key == nil || events.contains { $0.key != events.first?.key }
        for event in shown {
            context.print(Rendering.json(event), if: json, or: Rendering.line(event, withKey: showsKeys))
        }
        if follow { try await follow(after: events, withKeys: showsKeys, context) }
        guard !json else { return }
        if chosen.isEmpty {
            let owner = key == nil ? "" : " of this entry"
            context.say(events.isEmpty ? "no events\(owner) are recorded" : "no event matches")
        }
        if shown.count < chosen.count, context.outputWidth != nil {
            context.say(sentence("newest-events", shown.count, chosen.count))
        }
    }

    private func isOfReason(_ event: Event) -> Bool { reason == nil || event.reason.code.rawValue == reason }

    /// Prints the events that are recorded later, until the task is cancelled.
    ///
    /// The store is closed in between, so that it can be removed or made meanwhile.
    private func follow(after events: [Event], withKeys showsKeys: Bool, _ context: CommandContext) async throws {
        var known = events
        // What the name means does not change when the file is delivered.
        let keys = Set(events.map(\.key))
        while context.outputError() == 0 {
            try await Task.sleep(for: .milliseconds(500))
            let all = try await context.withExistingStore(storeOptions) { try await $0.events() } ?? []
            let events = all.filter { event in
                key.map { keys.isEmpty ? event.key.contains($0) : keys.contains(event.key) } ?? true
            }
            for event in events.difference(from: known).insertions {
                guard case .insert(_, let event, _) = event, isOfReason(event) else { continue }
                context.print(Rendering.json(event), if: json, or: Rendering.line(event, withKey: showsKeys))
            }
            known = events
        }
    }

    /// Returns the events, oldest first.
    private func recorded(in store: DownloadStore, _ context: CommandContext) async throws -> [Event] {
        guard let key else { return try await store.events() }
        for name in [key, (try? TypedURL.parse(key))?.redacted].compactMap(\.self) {
            let events = try await store.events(for: name)
            if !events.isEmpty { return events }
        }
        do {
            return try await store.events(for: store.entry(matching: key, context).key)
        } catch let error as StoreError where error.code == .noEntry {
            // Delivered files leave the store, but not the log.
            guard DownloadStore.isPart(key) else { return [] }
            return try await store.events().filter { $0.key.contains(key) }
        }
    }
}
