import Foundation
import TestSupport
import Testing

/// Random histories through the real engine and store, with a server that lies.
@Suite(.timeLimit(.minutes(20)))
struct HistoryWalkTests {
    static let program: String = {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        return bundle.deletingLastPathComponent().appendingPathComponent("history-walk").path
    }()

    /// `HISTORIES=1000000 HISTORY_SEED=7` runs more of them.
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    @Test("Random histories: never a mix, a part, another caller's bytes, or a loss without an event")
    func histories() async throws {
        // Ten thousand, as `make sweep` runs them, take a slow machine half an hour.
        let count = Self.number("HISTORIES") ?? 2_000
        let seed = Self.number("HISTORY_SEED") ?? 43
        // Two processes, since points at which a process is killed belong to the process.
        try await withThrowingTaskGroup(of: Shell.Outcome.self) { group in
            for lane in 0..<2 {
                group.addTask {
                    try await Shell.outcome(
                        Self.program,
                        ["--seed", "\(seed)", "--first", "\(lane)", "--count", "\(count - lane)", "--stride", "2"])
                }
            }
            for try await outcome in group {
                #expect(outcome.status == 0, "\(outcome.output.suffix(20_000))\(outcome.errors)")
            }
        }
    }
}
