import ArgumentParser
import ResumeFiles
import ResumeHTTP
import ResumeStore

struct GcCommand: ContextCommand {
    static let configuration = CommandConfiguration("gc")

    @OptionGroup var storeOptions: StoreOptions
    @Option("gc/max-size") var maxSize: ByteCount?
    @Option("max-age") var maxAge: TimeSpan?
    @Flag("stale") var stale = false
    @Flag("orphans") var orphans = false
    @Flag("dry-run") var dryRun = false
    @Flag("q gc/quiet") var quiet = false
    @Flag("json") var json = false

    func run(_ context: CommandContext) async throws {
        let done = try await context.withExistingStore(
            storeOptions, configuring: { if stale { $0.eviction = .stale } }
        ) { store in
            var report = try await store.collect(
                maximumSize: maxSize?.bytes, maximumAge: maxAge?.duration, dryRun: dryRun, comparesAll: orphans,
                // One object cannot be printed in parts.
                onBatch: json || quiet ? nil : { batch in Rendering.show(batch, dryRun: dryRun, context) })
            let leftovers = try await Blocking.run { [dryRun] in
                StandardOutput.leftovers(in: store.path, removing: !dryRun)
            }
            report.orphans += leftovers.map(\.name)
            report.orphanBytes = leftovers.reduce(report.orphanBytes) { $0.addingSaturating($1.bytes) }
            return (report, self.limits(of: store.configuration))
        }
        if quiet, !json { return }
        // A timer runs this before the first download, too.
        guard json || done != nil else { return context.print("there is no store yet") }
        Rendering.finish(done?.0 ?? RemovalReport(), dryRun: dryRun, asJSON: json, context)
        if let limits = done?.1, !json { context.print(limits) }
    }

    /// Returns the limits that are applied, and where each of them was set.
    private func limits(of configuration: DownloadStore.Configuration) -> String {
        let size = ByteCount.text(maxSize?.bytes ?? configuration.maximumSize)
        let age = TimeSpan.text((maxAge?.duration ?? configuration.maximumAge).components.seconds)
        let sizeSource =
            maxSize != nil ? "--max-size" : storeOptions.storeMaxSize != nil ? "store-max-size" : "default"
        let ageSource = maxAge != nil ? "--max-age" : storeOptions.storeMaxAge != nil ? "store-max-age" : "default"
        return sentence("limits", size, sizeSource, age, ageSource)
    }
}
