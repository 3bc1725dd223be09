import ResumeSQLite
import Synchronization

extension DownloadStore {
    /// Copies the write-ahead log to the database, never at the same time as a writer.
    ///
    /// SQLite's automatic checkpoints are disabled on every connection: if one process resets the log during another one's
    /// checkpoint, SQLite 3.7.0 to 3.51.2 corrupts the database (<https://www.sqlite.org/wal.html#the_wal_reset_bug>).
    /// While the store's lock is held exclusively, no writer can reset the log.
    final class Checkpointer: Sendable {
        private let folder: StoreFolder
        private let lock: StoreLock
        private let commits = Atomic<Int>(0)

        /// The number of commits of this process between two checks of the log's size.
        private static let commitsBetweenLooks = 128
        /// The log size in bytes at which a checkpoint is tried.
        private static let softLimit: Int64 = 4 << 20
        /// The log size in bytes at which a checkpoint waits for the lock.
        private static let hardLimit: Int64 = 32 << 20

        init(folder: StoreFolder, lock: StoreLock) {
            self.folder = folder
            self.lock = lock
        }

        /// Runs a checkpoint if the log is large; must be called after each commit, outside the lock.
        func committed(_ connection: borrowing Connection) throws {
            let count = commits.wrappingAdd(1, ordering: .relaxed).newValue
            if count % Self.commitsBetweenLooks == 0 { try relieve(connection) }
        }

        /// Runs a checkpoint if the log is large, after a transaction that changed many pages.
        func relieve(_ connection: borrowing Connection) throws {
            let size = try folder.logSize()
            guard size >= Self.softLimit else { return }
            try copy(.passive, connection, patience: size >= Self.hardLimit ? .milliseconds(500) : .zero)
        }

        /// Empties the log, so that it contains no deleted data.
        func truncate(_ connection: borrowing Connection) throws {
            try copy(.truncate, connection, patience: .milliseconds(500))
        }

        /// Runs a last checkpoint, unless there is a writer.
        ///
        /// It empties the log, since the next opening would have to read a long one. It does not wait for readers.
        func finish(_ connection: borrowing Connection) throws {
            guard try folder.logSize() > 0 else { return }
            try connection.execute("PRAGMA busy_timeout = 0")
            try copy(.truncate, connection)
        }

        /// Runs a checkpoint if the lock can be acquired, and ignores that there are readers in other processes: the next
        /// checkpoint copies the log.
        ///
        /// A full disk is ignored too, since the commit has succeeded.
        private func copy(
            _ mode: Connection.CheckpointMode, _ connection: borrowing Connection, patience: Duration = .zero
        ) throws {
            do {
                _ = try lock.exclusive(patience: patience) { try connection.checkpoint(mode) }
            } catch let error as SQLiteError {
                switch error.code {
                case .busy, .locked, .full: return
                default: throw error
                }
            }
        }
    }
}
