internal import Foundation
internal import ResumeSQLite
internal import TestSupport

/// Several processes that write and checkpoint one database, with a longer window for SQLite's WAL-reset bug.
package struct WALSoak: Sendable {
    /// The result of one run.
    package struct Outcome: Sendable {
        /// The number of committed rows, as recorded by the processes.
        package var committed = 0
        package var checkpoints = 0
        /// The damage found; nil if the database is intact and holds every row.
        package var damage: String?
    }

    /// The number of processes on the database.
    private static let workers = 4

    /// Whether writes and checkpoints take the store's lock.
    package var isGuarded: Bool
    /// The duration of each run.
    package var seconds: Int
    /// The seed of the choices.
    package var seed: UInt64

    /// Creates a soak test.
    package init(isGuarded: Bool, seconds: Int, seed: UInt64) {
        self.isGuarded = isGuarded
        self.seconds = seconds
        self.seed = seed
    }

    /// Whether the linked library has the bug at all.
    package static var hasBug: Bool { SQLiteLibrary.hasWALResetBug }

    /// Runs the processes once on a fresh database.
    ///
    /// - Throws: An error if they cannot be started, or end unexpectedly.
    package func run() async throws -> Outcome {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder["store.sqlite"]
        try Files.write([], to: path)
        try WALWorker.makeTable(at: path)
        let program = URL(fileURLWithPath: Resumectl.path).deletingLastPathComponent()
            .appendingPathComponent("store-crowd").path
        var processes: [ChildProcess] = []
        for number in 0..<Self.workers {
            let arguments = [
                "--wal-worker", "\(number)", "--database", path, "--seconds", "\(seconds)", "--seed",
                "\(seed &+ UInt64(number))",
            ]
            processes.append(
                try Shell.start(
                    program, arguments + (isGuarded ? [] : ["--unguarded"]), output: folder["worker\(number)"]))
        }
        // All of them, even if one fails or the task is cancelled, which kills them.
        for process in processes { await process.wait() }
        try Task.checkCancellation()
        var outcome = Outcome()
        for (number, process) in processes.enumerated() {
            let ending = await process.wait()
            let text = String(decoding: try Files.bytes(folder["worker\(number)"]), as: UTF8.self)
            let words = text.split(whereSeparator: \.isWhitespace)
            guard ending == .exited(0), words.count >= 2, let rows = Int(words[0]), let checkpoints = Int(words[1])
            else { throw Shell.Failure(description: "a process of the soak ended with \(ending): \(text)") }
            outcome.committed += rows
            outcome.checkpoints += checkpoints
            if words.count > 2 { outcome.damage = words[2...].joined(separator: " ") }
        }
        outcome.damage = try WALWorker.damage(at: path, rows: outcome.committed) ?? outcome.damage
        return outcome
    }
}
