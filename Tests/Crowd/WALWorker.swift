internal import CUnfetchHook
internal import Foundation
internal import ResumeFiles
internal import ResumeSQLite
internal import ResumeStore
internal import Synchronization

/// One of the processes of a soak.
package struct WALWorker {
    private let number: Int
    private let path: String
    private let isGuarded: Bool
    private let chance: Chance

    /// Creates a worker.
    package init(number: Int, path: String, isGuarded: Bool, seed: UInt64) {
        self.number = number
        self.path = path
        self.isGuarded = isGuarded
        chance = Chance(seed: seed)
    }

    static func makeTable(at path: String) throws {
        let connection = try Connection.open(path: path)
        _ = try connection.text("PRAGMA journal_mode = WAL")
        try connection.execute("CREATE TABLE t (worker INTEGER, i INTEGER, b BLOB, PRIMARY KEY (worker, i)) STRICT")
        try connection.execute("CREATE INDEX t_by_i ON t (i, worker)")
    }

    /// The damage of a database that must hold the given number of rows; nil if it is intact.
    static func damage(at path: String, rows: Int) throws -> String? {
        do {
            let connection = try Connection.open(path: path)
            let integrity = try connection.text("PRAGMA integrity_check") ?? "unreadable"
            guard integrity == "ok" else { return "integrity_check: \(integrity.split(separator: "\n").last ?? "")" }
            let found = try connection.integer("SELECT count(*) FROM t NOT INDEXED") ?? 0
            return found < rows ? "\(rows - Int(found)) committed rows are lost" : nil
        } catch let error as SQLiteError where error.code.primary == .corrupt {
            return "malformed"
        }
    }

    /// How long a worker tries, on a busy machine, to make its first commit and checkpoint.
    private static let longest: Duration = .seconds(120)

    /// Writes and checkpoints for a while, and at least once, then prints the number of rows and checkpoints, and any
    /// damage.
    ///
    /// - Throws: Errors that do not indicate damage.
    package func run(seconds: Int) throws {
        guard unfetch_hook_register() == 0 else { return }
        let connection = try Connection.open(path: path, vfs: "unfetch-hook")
        // On a disk whose syncs are slow, no checkpoint would come to the end of the log, which is then never reset.
        try connection.execute("PRAGMA synchronous = OFF")
        let lock = try StoreLock(writersIn: Folder(URL(fileURLWithPath: path).deletingLastPathComponent().path))
        let deadline = ContinuousClock.now + .seconds(seconds)
        var rows = 0
        var checkpoints = 0
        var damage = ""
        do {
            while ContinuousClock.now < deadline
                || (rows == 0 || checkpoints == 0) && ContinuousClock.now < deadline + Self.longest
            {
                // Not right after its own write: the bug needs a log that others have written and copied since.
                if chance.happens(40) {
                    if try checkpoint(connection, lock) { checkpoints += 1 }
                } else {
                    let count = chance.number(1...4)
                    if try write(count, after: rows, to: connection, lock) { rows += count }
                }
                usleep(UInt32(chance.number(0...2000)))
            }
        } catch let error as SQLiteError where error.code.primary == .corrupt {
            damage = " saw: \(error.message)"
        }
        print("\(rows) \(checkpoints)\(damage)")
    }

    /// - Returns: Whether they were written: the sync of another process's checkpoint can outlast every wait.
    private func write(
        _ count: Int, after first: Int, to connection: borrowing Connection, _ lock: StoreLock
    ) throws -> Bool {
        do {
            guard isGuarded else {
                try insert(count, after: first, into: connection)
                return true
            }
            try lock.shared { try insert(count, after: first, into: connection) }
            return true
        } catch let error as StoreError where error.code == .busy {
            return false
        } catch let error as SQLiteError where error.code.primary == .busy {
            return false
        }
    }

    private func insert(_ count: Int, after first: Int, into connection: borrowing Connection) throws {
        try connection.transaction(.immediate) {
            for row in first..<first + count {
                _ = try connection.run(
                    "INSERT INTO t VALUES (?, ?, zeroblob(2500))", number, row)
            }
        }
    }

    /// - Returns: Whether a checkpoint was made.
    private func checkpoint(_ connection: borrowing Connection, _ lock: StoreLock) throws -> Bool {
        // Between reading the header of the log and copying its frames. Half of them have no delay: those copy
        // everything, so that the next writer restarts the log.
        let longest = chance.happens(50) ? 8000 : 0
        let pause = Unmanaged.passRetained(Pause(microseconds: UInt32(chance.number(0...longest))))
        unfetch_hook_arm({ context in context.map { Pause.of($0).take() } }, pause.toOpaque())
        defer {
            unfetch_hook_arm(nil, nil)
            pause.release()
        }
        do {
            guard isGuarded else {
                try connection.checkpoint(.passive)
                return true
            }
            return try lock.exclusive { try connection.checkpoint(.passive) } != nil
        } catch let error as SQLiteError where error.code.primary == .busy {
            return false
        }
    }

    private final class Pause: Sendable {
        let microseconds: UInt32

        init(microseconds: UInt32) { self.microseconds = microseconds }

        func take() {
            if microseconds > 0 { usleep(microseconds) }
        }

        static func of(_ context: UnsafeMutableRawPointer) -> Pause {
            Unmanaged<Pause>.fromOpaque(context).takeUnretainedValue()
        }
    }
}
