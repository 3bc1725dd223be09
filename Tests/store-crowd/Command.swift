import Crowd
import Dispatch
import Foundation
import TestSupport

/// Many processes on one store for any duration, and two measurements that need processes as well.
@main
enum Command {
    static func main() async {
        do {
            let arguments = try Arguments(CommandLine.arguments.dropFirst())
            let work = Task { try await run(arguments) }
            let interruption = cancelling(work, at: [SIGINT, SIGTERM])
            let isClean = try await work.value
            for source in interruption { source.cancel() }
            exit(isClean ? 0 : 1)
        } catch let failure as Arguments.Failure {
            say("store-crowd: \(failure.message)\n\(Arguments.usage)")
            exit(64)
        } catch is CancellationError {
            say("store-crowd: interrupted; all that was started has ended")
            exit(130)
        } catch {
            say("store-crowd: \(error)")
            exit(1)
        }
    }

    /// Runs the task.
    ///
    /// - Returns: Whether there were no violations.
    private static func run(_ arguments: Arguments) async throws -> Bool {
        switch arguments.task {
        case .help:
            print(Arguments.usage)
            return true
        case .crowd: return try await crowd(arguments)
        case .takeover(let count): return try await takeover(count)
        case .soak(let count): return try await soak(count, arguments)
        case .worker(let number):
            let worker = WALWorker(
                number: number, path: arguments.path, isGuarded: !arguments.isUnguarded, seed: arguments.seed ?? 1)
            try worker.run(seconds: arguments.seconds ?? 3)
            return true
        }
    }

    private static func crowd(_ arguments: Arguments) async throws -> Bool {
        let seed = arguments.seed ?? 1
        var plan = Crowd.Plan(duration: .seconds(arguments.seconds ?? 600), seed: seed)
        plan.members = arguments.members
        plan.locks = arguments.locks
        say("store-crowd: \(arguments.seconds ?? 600) s, \(plan.members) downloads at a time, --seed \(seed)")
        let report = try await TemporaryFolder.with { folder in try await Crowd.run(plan, in: folder) }
        print(report.details)
        for violation in report.violations { print("VIOLATION: \(violation)") }
        print(report.summary)
        return report.isClean
    }

    private static func takeover(_ count: Int) async throws -> Bool {
        let samples = try await TemporaryFolder.with { folder in try await Takeover.measure(count, in: folder) }
        for (name, times) in [("lease", samples.map(\.lease)), ("request", samples.map(\.request))] {
            let times = times.sorted()
            let (median, longest) = (milliseconds(times[times.count / 2]), milliseconds(times[times.count - 1]))
            print("takeover: \(name) after SIGKILL: median \(median) ms, maximum \(longest) ms of \(count)")
        }
        return true
    }

    private static func soak(_ count: Int, _ arguments: Arguments) async throws -> Bool {
        let seed = arguments.seed ?? 1
        var damaged = 0
        for number in 1...count {
            let soak = WALSoak(
                isGuarded: !arguments.isUnguarded, seconds: arguments.seconds ?? 3,
                seed: seed &+ UInt64(number) &* 1000)
            let outcome = try await soak.run()
            if outcome.damage != nil { damaged += 1 }
            print("\(outcome.committed) rows, \(outcome.checkpoints) checkpoints: \(outcome.damage ?? "whole")")
        }
        let how = arguments.isUnguarded ? "without" : "with"
        print(
            "wal-soak \(how) the store's lock: \(damaged) of \(count) damaged (the library has the bug: \(WALSoak.hasBug))"
        )
        return arguments.isUnguarded || damaged == 0
    }

    private static func milliseconds(_ duration: Duration) -> Double {
        (duration / .microseconds(10)).rounded() / 100
    }

    private static func cancelling(_ work: Task<Bool, any Error>, at numbers: [Int32]) -> [any DispatchSourceSignal] {
        numbers.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { work.cancel() }
            source.activate()
            return source
        }
    }

    private static func say(_ line: String) {
        FileHandle.standardError.write(Data("\(line)\n".utf8))
    }
}
