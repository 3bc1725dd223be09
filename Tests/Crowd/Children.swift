internal import Foundation
internal import Synchronization
internal import TestSupport

/// The running processes of a crowd, which can be disturbed from start to end.
final class Children: Sendable {
    /// The result of a process.
    struct Outcome: Sendable {
        var ending: ChildProcess.Ending
        var output: String
        var errors: String
        /// Whether the crowd itself killed it.
        var wasKilled: Bool
        /// From its start to its end.
        var span: ClosedRange<ContinuousClock.Instant>
        /// Whether it had to be killed because it did not exit.
        var hung: Bool
        /// The store it worked on.
        var store: Int
    }

    private struct Running {
        let process: ChildProcess
        var isKilled = false
        var isStopped = false
    }

    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let running = Mutex<[pid_t: Running]>([:])
    private let number = Atomic<Int>(0)
    private let store = Atomic<Int>(1)
    let kills = Atomic<Int>(0)
    let stops = Atomic<Int>(0)

    /// The time limit of a command, which may also be stopped for a while.
    private static let patience: Duration = .seconds(300)

    init(folder: TemporaryFolder, environment: [String: String]) {
        self.folder = folder
        self.environment = ProcessInfo.processInfo.environment
            .merging(Resumectl(folder: folder).environment) { $1 }.merging(environment) { $1 }
            // Without locks a process may die of SIGBUS: the helper that prints a backtrace would outlive the test.
            .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    }

    /// The number of stores so far.
    var stores: Int { store.load(ordering: .relaxed) }

    /// Replaces a damaged store for all later processes.
    func replaceStore(_ damaged: Int) {
        _ = store.compareExchange(expected: damaged, desired: damaged + 1, ordering: .relaxed)
    }

    /// Runs `resumectl` until it exits or is killed.
    ///
    /// Cancelling the task kills it.
    func run(_ arguments: [String]) async throws -> Outcome {
        let number = number.wrappingAdd(1, ordering: .relaxed).newValue
        let (output, errors) = (folder["output\(number)"], folder["errors\(number)"])
        defer { for path in [output, errors] { try? FileManager.default.removeItem(atPath: path) } }
        let start = ContinuousClock.now
        let store = stores
        var environment = environment
        environment["RESUMECTL_STORE"] = folder[store == 1 ? "store" : "store\(store)"]
        let process = try ChildProcess(
            Resumectl.path, arguments, environment: environment, output: output, errors: errors)
        let identifier = process.processIdentifier
        running.withLock { $0[identifier] = Running(process: process) }
        var hung = false
        while process.isRunning {
            if Task.isCancelled { kill(identifier) }
            if ContinuousClock.now - start > Self.patience, !hung {
                hung = true
                process.send(SIGKILL)
            }
            try? await Task.sleep(for: .milliseconds(5))
            // A cancelled task polls without a pause, but the kernel needs little time.
        }
        let entry = running.withLock { $0.removeValue(forKey: identifier) }
        return Outcome(
            ending: process.result ?? .exited(-1), output: try text(output), errors: try text(errors),
            wasKilled: entry?.isKilled ?? false, span: start...ContinuousClock.now, hung: hung, store: store)
    }

    private func text(_ path: String) throws -> String {
        String(decoding: try Files.bytes(path), as: UTF8.self)
    }

    /// Kills one of the processes.
    func killOne(_ chance: Chance) {
        guard let identifier = pick(chance) else { return }
        kill(identifier)
    }

    private func kill(_ identifier: pid_t) {
        let process = running.withLock { running -> ChildProcess? in
            guard running[identifier]?.isKilled == false else { return nil }
            running[identifier]?.isKilled = true
            return running[identifier]?.process
        }
        guard let process else { return }
        kills.wrappingAdd(1, ordering: .relaxed)
        process.send(SIGKILL)
    }

    /// Stops one of the processes for a while.
    func stopOne(_ chance: Chance, for pause: Duration) async throws {
        guard let identifier = pick(chance) else { return }
        let process = running.withLock { running in
            running[identifier]?.isStopped = true
            return running[identifier]?.process
        }
        guard let process else { return }
        stops.wrappingAdd(1, ordering: .relaxed)
        process.send(SIGSTOP)
        try? await Task.sleep(for: pause)
        // Even if the crowd was cancelled, no process stays stopped.
        process.send(SIGCONT)
        running.withLock { $0[identifier]?.isStopped = false }
        try Task.checkCancellation()
    }

    private func pick(_ chance: Chance) -> pid_t? {
        let free = running.withLock { running in
            running.filter { !$0.value.isKilled && !$0.value.isStopped }.keys.sorted()
        }
        return chance.pick(free)
    }
}
