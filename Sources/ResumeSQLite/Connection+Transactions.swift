internal import CResumeSQLite

extension Connection {
    /// When a transaction takes its locks.
    public enum TransactionKind: String, Sendable {
        /// At the first read.
        case deferred = "BEGIN DEFERRED"
        /// Before anything else. A deferred transaction that turns into a writer fails at once with
        /// `SQLITE_BUSY_SNAPSHOT`, whatever the timeout, so whoever may write begins with this one.
        case immediate = "BEGIN IMMEDIATE"
    }

    /// Whether a commit may be lost when the power goes.
    public enum CommitDurability: Sendable {
        /// The commit survives the process (`synchronous=NORMAL`, no fsync in WAL mode).
        case process
        /// The commit survives a power loss (`synchronous=FULL`).
        case power
    }

    /// Runs a synchronous body in a transaction: commits what it did, or rolls all of it back.
    ///
    /// - Parameters:
    ///   - kind: When locks are taken.
    ///   - durability: What the commit survives.
    ///   - body: The work. Not a place for waiting: the database is locked meanwhile.
    /// - Returns: What `body` returned.
    /// - Throws: ``SQLiteError`` of `BEGIN` or `COMMIT`, or whatever `body` throws.
    public borrowing func transaction<Result>(
        _ kind: TransactionKind, durability: CommitDurability = .process, _ body: () throws -> Result
    ) throws -> Result {
        // Executed anew each time: this pragma takes effect when it is prepared, so a kept statement would do nothing.
        if durability == .power { try execute("PRAGMA synchronous = FULL") }
        defer {
            // Only a failing allocation can make this fail, and then the next commit is merely safer.
            if durability == .power { try? execute("PRAGMA synchronous = NORMAL") }
        }
        try run(kind.rawValue)
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // SQLite may have rolled back by itself (SQLITE_FULL, SQLITE_IOERR): then there is nothing to do.
            if isInTransaction { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    /// Whether a transaction is open.
    public var isInTransaction: Bool {
        unsafe withHandle { unsafe sqlite3_get_autocommit($0) == 0 }
    }

    /// How much a checkpoint copies, and what it does with the log after.
    public enum CheckpointMode: Sendable {
        /// Copies what it can without waiting for anyone.
        case passive
        /// Copies everything and cuts the log to nothing.
        case truncate
    }

    /// Copies the write-ahead log into the database.
    ///
    /// Only to be called while no other connection can be inside a writing transaction: see
    /// <https://www.sqlite.org/wal.html#the_wal_reset_bug> and the store's lock.
    ///
    /// - Returns: Frames in the log, and how many of them are in the database now.
    @discardableResult
    public borrowing func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) -> (frames: Int, copied: Int) {
        var frames: Int32 = 0
        var copied: Int32 = 0
        let flag = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        let failure: SQLiteError? = unsafe withHandle { handle in
            let code = unsafe sqlite3_wal_checkpoint_v2(handle, nil, flag, &frames, &copied)
            return code == SQLITE_OK ? nil : unsafe SQLiteError(connection: handle, code: code, sql: nil)
        }
        if let failure { throw failure }
        return (Int(frames), Int(copied))
    }
}
