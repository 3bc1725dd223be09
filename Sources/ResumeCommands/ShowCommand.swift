import ArgumentParser
import ResumeHTTP
import ResumeStore

/// The command `resumectl show`.
struct ShowCommand: ContextCommand {
    static let configuration = CommandConfiguration("show")

    @OptionGroup var storeOptions: StoreOptions
    @OptionGroup var entry: EntryArgument

    @Flag(help: "Print one JSON object.")
    var json = false

    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions) { store in
            do {
                let entry = try await store.entry(matching: entry.name, context)
                show(entry, try await store.events(for: entry.key).suffix(20), context)
            } catch let error as StoreError where error.code == .noEntry {
                guard let (record, file) = try await store.delivered(named: entry.name) else { throw error }
                if json {
                    let state = file.state(at: record.path).rawValue
                    context.print(Rendering.json(record, file).adding(["state": state]))
                }
                for line in json ? [] : Rendering.lines(record, file) { context.print(line) }
            }
        }
    }

    private func show(_ entry: Entry, _ events: ArraySlice<Event>, _ context: CommandContext) {
        guard json else {
            for line in Rendering.lines(entry) { context.print(line) }
            for event in events { context.print(Rendering.line(event, withKey: false)) }
            return
        }
        let known = entry.representation
        context.print(
            Rendering.json(entry).adding([
                "contentType": known?.contentType, "validator": known?.validator.map { "\($0)" },
                "events": events.map(Rendering.json),
            ]))
    }
}
