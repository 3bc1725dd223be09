internal import ResumeSQLite
internal import Synchronization

/// Copies the write-ahead log into the database, in the store's stead and never beside a writer.
///
/// SQLite's own checkpoints are switched off on every connection: when one process resets the log inside another's
/// checkpoint, SQLite 3.7.0 to 3.51.2 corrupts the database for good
/// (<https://www.sqlite.org/wal.html#the_wal_reset_bug>). With the store's lock held exclusively no writer can be
/// there to reset it.
final class Checkpointer: Sendable {
    private let folder: StoreFolder
    private let lock: StoreLock
    private let commits = Atomic<Int>(0)

    /// How many commits of this process go by before it looks at the log's size.
    private static let commitsBetweenLooks = 128
    /// The size of the log, in bytes, from which on a checkpoint is tried.
    private static let softLimit: Int64 = 4 << 20
    /// The size from which on it is waited for.
    private static let hardLimit: Int64 = 32 << 20

    init(folder: StoreFolder, lock: StoreLock) {
        self.folder = folder
        self.lock = lock
    }

    /// To be called after each commit, outside the lock.
    func committed(_ connection: borrowing Connection) throws {
        let count = commits.wrappingAdd(1, ordering: .relaxed).newValue
        guard count % Self.commitsBetweenLooks == 0 else { return }
        let size = try folder.logSize()
        guard size >= Self.softLimit else { return }
        try lock.exclusive(patience: size >= Self.hardLimit ? .milliseconds(500) : .zero) {
            try Self.tolerant { try connection.checkpoint(.passive) }
        }
    }

    /// Empties the log, so that what was deleted is not left in it.
    func truncate(_ connection: borrowing Connection) throws {
        try lock.exclusive(patience: .milliseconds(500)) {
            try Self.tolerant { try connection.checkpoint(.truncate) }
        }
    }

    /// A last checkpoint, if nobody is writing.
    ///
    /// It leaves an empty log, since the next opening would read through a long
    /// one. A reader is not waited for.
    func finish(_ connection: borrowing Connection) throws {
        guard try folder.logSize() > 0 else { return }
        try connection.execute("PRAGMA busy_timeout = 0")
        try lock.exclusive { try Self.tolerant { try connection.checkpoint(.truncate) } }
    }

    /// A reader in another process is no failure: the log stays, and the next checkpoint takes it.
    ///
    /// Neither is a full disk, on which the commit itself has succeeded.
    private static func tolerant(_ body: () throws -> (frames: Int, copied: Int)) throws {
        do {
            _ = try body()
        } catch let error as SQLiteError {
            switch error.code {
            case .busy, .locked, .full: return
            default: throw error
            }
        }
    }
}
