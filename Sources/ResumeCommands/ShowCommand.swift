import ArgumentParser
import ResumeHTTP
import ResumeStore

struct ShowCommand: ContextCommand {
    static let configuration = CommandConfiguration("show")

    @OptionGroup var storeOptions: StoreOptions
    @Argument(help: .of("entry")) var name: String
    @Flag("json") var json = false

    func run(_ context: CommandContext) async throws {
        try await context.withStore(storeOptions) { store in
            do {
                let entry = try await store.entry(matching: name, context)
                show(entry, try await store.events(for: entry.key).suffix(20), context)
            } catch let error as StoreError where error.code == .noEntry {
                guard let (record, file) = try await store.delivered(named: name) else { throw error }
                guard json else { return Rendering.lines(record, file).forEach(context.print) }
                let state = file.state(at: record.path).rawValue
                context.print(Rendering.json(record, file).adding(["state": state]))
            }
        }
    }

    private func show(_ entry: Entry, _ events: ArraySlice<Event>, _ context: CommandContext) {
        guard json else {
            Rendering.lines(entry, width: context.outputWidth).forEach(context.print)
            return events.map { Rendering.line($0, withKey: false) }.forEach(context.print)
        }
        let known = entry.representation
        context.print(
            Rendering.json(entry).adding([
                "contentType": known?.contentType, "validator": known?.validator.map { "\($0)" },
                "events": events.map(Rendering.json),
            ]))
    }
}
