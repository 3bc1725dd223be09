import ArgumentParser
import ResumeFiles
import ResumeHTTP
import ResumeStore

struct HistoryCommand: ContextCommand {
    static let configuration = CommandConfiguration("history")

    @OptionGroup var storeOptions: StoreOptions
    @Option("history/since") var since: PointInTime?
    @Option("history/match") var match: Glob?
    @Flag("history/json") var json = false

    /// For how long files are shown, in milliseconds.
    private static let shown: Int64 = 90 * 86_400_000

    func run(_ context: CommandContext) async throws {
        let now = WallClock.milliseconds
        let start = max(since?.milliseconds(now: now) ?? 0, now - Self.shown)
        var count = 0
        _ = try await context.withExistingStore(storeOptions) { store in
            try await DeliveryRecords(of: store).forEach(since: start) { record in
                guard let file = record.file, match.map({ $0.matches(record.path) || $0.matches(record.url) }) ?? true
                else { return }
                count += 1
                context.print(Rendering.json(record, file), if: json, or: Rendering.line(record, file))
            }
        }
        if count == 0, !json { context.say("no file was delivered") }
    }
}
