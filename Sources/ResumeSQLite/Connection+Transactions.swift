import CResumeSQLite

extension Connection {
    /// When a transaction takes its locks.
    package enum TransactionKind: String, Sendable {
        /// At the first read.
        case deferred = "BEGIN DEFERRED"
        /// Before anything else. Use it for transactions that may write: a deferred transaction that begins to write
        /// after it has read can fail immediately with `SQLITE_BUSY_SNAPSHOT`, regardless of the timeout.
        case immediate = "BEGIN IMMEDIATE"
    }

    /// Whether a commit may be lost after a power failure.
    package enum CommitDurability: Sendable {
        /// The commit survives a crash of the process (`synchronous=NORMAL`, no fsync in WAL mode).
        case process
        /// The commit survives a power failure (`synchronous=FULL`).
        case power
    }

    /// Runs a synchronous closure in a transaction and commits it; rolls it back if an error is thrown.
    ///
    /// - Parameters:
    ///   - kind: When locks are taken.
    ///   - durability: What the commit survives.
    ///   - body: The closure. It should not wait, since the database is locked while it runs.
    /// - Returns: The result of `body`.
    /// - Throws: ``SQLiteError`` if `BEGIN` or `COMMIT` fails, or the error of `body`.
    package borrowing func transaction<Result>(
        _ kind: TransactionKind, durability: CommitDurability = .process, _ body: () throws -> Result
    ) throws -> Result {
        // Not cached: this pragma takes effect when it is prepared, so a prepared statement would have no effect.
        if durability == .power { try execute("PRAGMA synchronous = FULL") }
        defer {
            // This fails only if memory cannot be allocated. Then the next commits are flushed as well, which is safe.
            if durability == .power { try? execute("PRAGMA synchronous = NORMAL") }
        }
        try run(kind.rawValue)
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // SQLite may already have rolled back because of the error (SQLITE_FULL, SQLITE_IOERR).
            if isInTransaction { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    /// Whether a transaction is open.
    var isInTransaction: Bool {
        unsafe withHandle { unsafe sqlite3_get_autocommit($0) == 0 }
    }

    /// How much a checkpoint copies, and what it does with the log afterwards.
    package enum CheckpointMode: Sendable {
        /// Copies what it can without waiting for other connections.
        case passive
        /// Copies everything and truncates the log.
        case truncate
    }

    /// Copies the write-ahead log into the database.
    ///
    /// Call it only while no other connection can be in a write transaction; see
    /// <https://www.sqlite.org/wal.html#the_wal_reset_bug> and the store's lock.
    package borrowing func checkpoint(_ mode: CheckpointMode) throws(SQLiteError) {
        let flag = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        try check(unsafe withHandle { unsafe sqlite3_wal_checkpoint_v2($0, nil, flag, nil, nil) })
    }
}
