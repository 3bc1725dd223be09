internal import ArgumentParser
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeHTTP
internal import ResumeStore

/// The command `resumectl set`.
struct SetCommand: ContextCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change the rate limit of downloads that are running.",
        discussion: """
            It applies within a second to the total of each process that downloads with this store, until it ends, in \
            place of --total-rate. Processes that start later are not affected.

            EXAMPLE:
              resumectl set --limit-rate 500k
              resumectl set --limit-rate 08:00-18:00=1M,10M
              resumectl set --limit-rate none
            """)

    @Option(
        name: .long, help: ArgumentHelp("Bytes per second, as get --total-rate takes it, or none.", valueName: "rate"))
    var limitRate: String

    @OptionGroup var storeOptions: StoreOptions

    func validate() throws {
        if limitRate != RateControl.none { _ = try RatePlan.argument(limitRate) }
    }

    func run(_ context: CommandContext) async throws {
        // Only in a store.
        try await context.withStore(storeOptions.store) { store in
            let path = RateControl.path(in: store.path)
            do {
                try Data(limitRate.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
            } catch {
                throw CommandFailure(.io, "cannot write \(Printable.escaped(path)): \(error)")
            }
        }
    }
}
