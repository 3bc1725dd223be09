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
    /// - Throws: ``SQLiteError`` of `BEGIN` or `COMMIT`, or whatever `body` throws.
    public borrowing func transaction<Result>(
        _ kind: TransactionKind, durability: CommitDurability = .process, _ body: () throws -> Result
    ) throws -> Result {
        if durability == .power { try run("PRAGMA synchronous = FULL") }
        defer {
            // Only a failing allocation can make this fail, and then the next commit is merely safer.
            if durability == .power { _ = try? run("PRAGMA synchronous = NORMAL") }
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

/// Stops a running query of a connection from another thread.
@safe
struct Interrupter: @unchecked Sendable {
    // `sqlite3_interrupt` may be called from any thread as long as the connection is open; the actor
    // that hands this out keeps it open for as long as the closure runs.
    private let handle: OpaquePointer

    init(handle: OpaquePointer) {
        unsafe self.handle = handle
    }

    func interrupt() {
        unsafe sqlite3_interrupt(handle)
    }
}

/// The library this process is linked to.
public enum SQLiteLibrary {
    /// Its version, such as `3.40.1`.
    public static var version: String {
        unsafe String(cString: sqlite3_libversion())
    }

    /// Its version as a number, such as 3040001.
    public static var versionNumber: Int {
        Int(sqlite3_libversion_number())
    }

    /// The oldest version that has all that is used here (`STRICT` tables).
    public static let oldestSupported = 3_037_000

    /// Whether the library has the WAL-reset bug (3.7.0 to 3.51.2, but for the fixed 3.50.7 and 3.44.6).
    public static var hasWALResetBug: Bool {
        let version = versionNumber
        return version < 3_051_003
            && !(3_050_007..<3_051_000).contains(version) && !(3_044_006..<3_045_000).contains(version)
    }
}
