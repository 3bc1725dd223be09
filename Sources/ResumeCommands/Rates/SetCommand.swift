import ArgumentParser
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import ResumeHTTP
import ResumeStore

struct SetCommand: ContextCommand {
    static let configuration = CommandConfiguration("set")

    @Option("set/limit-rate") var limitRate: RatePlan?
    @Option("set/total-rate") var totalRate: RatePlan?
    @OptionGroup var storeOptions: StoreOptions

    func validate() throws {
        try require(limitRate != nil || totalRate != nil, sentence("set-nothing"))
    }

    func run(_ context: CommandContext) async throws {
        // Only in a store. Jobs are counted first: with the new limit, one may end at once.
        let running = try await context.withStore(storeOptions) { store in
            let table = try await store.jobTable()
            var running = 0
            try await table.forEach(onlyLeft: true) { if table.isRunning($0.id) { running += 1 } }
            if let limitRate { try Self.write(limitRate, as: .each, in: store.path) }
            if let totalRate { try Self.write(totalRate, as: .total, in: store.path) }
            return running
        }
        let limits = [
            limitRate.map { "\(Self.words($0)) for each download" },
            totalRate.map { "\(Self.words($0)) for all downloads of a process together" },
        ].compactMap { $0 }
        guard running > 0 else { return context.say(sentence("set-unused")) }
        let jobs = running == 1 ? "1 job is" : "\(running) jobs are"
        context.say("\(limits.joined(separator: ", ")); \(jobs) running")
    }

    private static func words(_ rate: RatePlan) -> String {
        if rate.text == "none" { return "no limit" }
        return "at most \(rate.constant.map(ByteCount.rate) ?? rate.text)"
    }

    /// Each limit has its own file, so that one that is set soon after the other does not replace it.
    private static func write(_ rate: RatePlan, as limit: RateFile.Limit, in store: String) throws {
        let path = RateFile.path(of: limit, in: store)
        do {
            try Data(rate.text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw CommandFailure(.io, "cannot write \(path): \(error)")
        }
    }
}
