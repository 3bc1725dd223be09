import CResumeSQLite
import ResumeFiles

/// A connection to a database file, closed when it is released.
///
/// Prepared statements are cached. A connection must not be used by several threads at a time; ``Database`` isolates it
/// in an actor.
@safe
package struct Connection: ~Copyable {
    private let handle: OpaquePointer
    private let statements: StatementCache

    /// Opens an existing database file and sets every pragma that the package relies on.
    ///
    /// The caller must have checked that `path` is a regular file; SQLite refuses symbolic links.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - busyTimeout: How long SQLite waits for locks of other processes, in milliseconds.
    ///   - vfs: The name of another virtual file system, for tests.
    /// - Returns: The connection.
    /// - Throws: ``SQLiteError`` if the file cannot be opened or is not a database.
    package static func open(
        path: String, busyTimeout: Int32 = 30_000, vfs: String = SQLiteLibrary.fileSystem
    ) throws(SQLiteError) -> Connection {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE
        var opened: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path.systemPath, &opened, flags, vfs)
        guard let opened = unsafe opened else {
            throw SQLiteError(code: ResultCode(rawValue: code), message: "not enough memory for a connection")
        }
        guard code == SQLITE_OK else {
            let error = unsafe SQLiteError(connection: opened, code: code, sql: nil)
            unsafe sqlite3_close_v2(opened)
            throw error
        }
        let connection = unsafe Connection(handle: opened)
        try connection.configure(busyTimeout: busyTimeout)
        return connection
    }

    private init(handle: OpaquePointer) {
        unsafe self.handle = handle
        statements = StatementCache()
    }

    deinit {
        if ForkedChild.isCurrent {
            // Not even closed, since it belongs to the parent. The statements must not be released before their
            // connection.
            _ = unsafe Unmanaged.passRetained(statements)
            return
        }
        statements.removeAll()
        unsafe sqlite3_close_v2(handle)
    }

    /// Sets everything that correctness or safety relies on, since distributions compile in different defaults.
    private borrowing func configure(busyTimeout: Int32) throws(SQLiteError) {
        unsafe sqlite3_busy_timeout(handle, busyTimeout)
        let on = [
            SQLITE_DBCONFIG_DEFENSIVE,
            SQLITE_DBCONFIG_ENABLE_FKEY,
            // A checkpoint on close would bypass the guard against the WAL-reset bug.
            SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
        ]
        let off = [
            SQLITE_DBCONFIG_TRUSTED_SCHEMA,
            SQLITE_DBCONFIG_ENABLE_TRIGGER,
            SQLITE_DBCONFIG_ENABLE_VIEW,
            SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
            SQLITE_DBCONFIG_DQS_DML,
            SQLITE_DBCONFIG_DQS_DDL,
        ]
        for option in on { try set(option, to: 1) }
        for option in off { try set(option, to: 0) }
        try execute(
            """
            PRAGMA synchronous = NORMAL;
            PRAGMA wal_autocheckpoint = 0;
            PRAGMA foreign_keys = ON;
            PRAGMA trusted_schema = OFF;
            PRAGMA cell_size_check = ON;
            PRAGMA mmap_size = 0;
            PRAGMA cache_size = -2048;
            PRAGMA temp_store = MEMORY;
            PRAGMA locking_mode = NORMAL;
            PRAGMA secure_delete = ON;
            PRAGMA fullfsync = ON;
            PRAGMA checkpoint_fullfsync = ON;
            """)
    }

    private borrowing func set(_ option: Int32, to value: Int32) throws(SQLiteError) {
        try check(unsafe resume_sqlite3_config_flag(handle, option, value))
    }

    /// Throws the error that a call of SQLite returned.
    borrowing func check(_ code: Int32, sql: String? = nil) throws(SQLiteError) {
        guard code == SQLITE_OK else { throw unsafe SQLiteError(connection: handle, code: code, sql: sql) }
    }

    /// Removes the rows of indices from the schema, but not their pages.
    ///
    /// This is for a database that is only read: its schema then fits fewer pages.
    package borrowing func forgetIndices() throws(SQLiteError) {
        try set(SQLITE_DBCONFIG_DEFENSIVE, to: 0)
        try execute(
            """
            PRAGMA writable_schema = ON;
            CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE type <> 'index' OR sql IS NULL;
            -- A tree becomes one page again only if it is empty.
            DELETE FROM sqlite_schema;
            INSERT INTO sqlite_schema SELECT * FROM kept;
            DROP TABLE kept;
            PRAGMA writable_schema = OFF;
            """)
        try set(SQLITE_DBCONFIG_DEFENSIVE, to: 1)
    }

    /// Runs one or more statements without parameters and ignores their rows.
    package borrowing func execute(_ sql: String) throws(SQLiteError) {
        try check(unsafe sqlite3_exec(handle, sql, nil, nil, nil), sql: sql)
    }

    /// How a statement begins that is prepared without the CHECK constraints, and must not be able to break one.
    ///
    /// An `IN` in a constraint may cost more than the rest of the statement.
    package static let unchecked = "/* unchecked */"

    /// Runs a statement to completion and returns the number of changed rows.
    @discardableResult
    package borrowing func run(_ sql: String, _ values: (any SQLiteBindable)?...) throws(SQLiteError) -> Int {
        try run(bound(sql, values))
    }

    /// Runs a statement whose values are in an array.
    @discardableResult
    package borrowing func run(_ sql: String, _ values: SQLiteValues) throws(SQLiteError) -> Int {
        try run(bound(sql, values))
    }

    private borrowing func run(_ statement: Box<Statement>) throws(SQLiteError) -> Int {
        defer { statement.value.reset() }
        while try statement.value.step() {}
        return Int(unsafe sqlite3_changes64(handle))
    }

    /// Inserts rows, many with each statement.
    ///
    /// - Parameters:
    ///   - start: The statement up to its values, as in `INSERT INTO event (key, at)`.
    ///   - row: The values of a row, as in `(?, 0)`.
    ///   - rows: The values of each row.
    ///   - end: The rest of the statement, for conflicts.
    ///   - body: Called after each statement with its rows, and the number of changed ones.
    /// - Throws: ``SQLiteError``; the error of `body`.
    package borrowing func insert(
        _ start: String, _ row: String, _ rows: [[SQLiteValue]], ending end: String = "",
        body: (Range<Int>, Int) throws -> Void = { _, _ in }
    ) throws {
        var rest = rows[...]
        // Few numbers, since each is another statement.
        for size in [64, 16, 4, 1] {
            while rest.count >= size {
                let part = rest.prefix(size)
                rest = rest.dropFirst(size)
                let values = Array(repeating: row, count: size).joined(separator: ", ")
                try body(part.indices, try run(bound("\(start) VALUES \(values) \(end)", to: part.joined())))
            }
        }
    }

    /// Maps the rows of a query, without those that the closure maps to nil.
    ///
    /// - Throws: ``SQLiteError``, or the error of `body`.
    package borrowing func rows<Result>(
        _ sql: String, _ values: (any SQLiteBindable)?..., body: (borrowing Row) throws -> Result?
    ) throws -> [Result] {
        try rows(sql, values, body: body)
    }

    /// Maps the rows of a query whose values are in an array.
    ///
    /// - Throws: ``SQLiteError``, or the error of `body`.
    package borrowing func rows<Result>(
        _ sql: String, _ values: SQLiteValues, body: (borrowing Row) throws -> Result?
    ) throws -> [Result] {
        let statement = try bound(sql, values)
        defer { statement.value.reset() }
        var results: [Result] = []
        while try statement.value.step() {
            if let result = try body(statement.value.row) { results.append(result) }
        }
        return results
    }

    /// Maps the first row of a query; nil if there is none.
    ///
    /// - Throws: ``SQLiteError``, or the error of `body`.
    package borrowing func first<Result>(
        _ sql: String, _ values: (any SQLiteBindable)?..., body: (borrowing Row) throws -> Result?
    ) throws -> Result? {
        let statement = try bound(sql, values)
        defer { statement.value.reset() }
        return try statement.value.step() ? body(statement.value.row) : nil
    }

    /// Returns the integer in the first column of the first row, for pragmas and counts.
    package borrowing func integer(_ sql: String, _ values: (any SQLiteBindable)?...) throws(SQLiteError) -> Int64? {
        let statement = try bound(sql, values)
        defer { statement.value.reset() }
        return try statement.value.step() ? statement.value.row.integer(0) : nil
    }

    /// Returns the integer of a query that always has one, such as a count; 0 if a damaged database has none.
    package borrowing func count(_ sql: String) throws(SQLiteError) -> Int64 { try integer(sql) ?? 0 }

    /// Returns the text in the first column of the first row.
    package borrowing func text(_ sql: String, _ values: (any SQLiteBindable)?...) throws -> String? {
        try rows(sql, values) { $0.text(0) }.first
    }

    private borrowing func bound(_ sql: String, _ values: SQLiteValues) throws(SQLiteError) -> Box<Statement> {
        try bound(sql, to: values.lazy.map { $0?.sqlite ?? .null })
    }

    /// Returns a prepared statement with values; the caller resets it.
    private borrowing func bound(
        _ sql: String, to values: some Sequence<SQLiteValue>
    ) throws(SQLiteError) -> Box<Statement> {
        let statement = try unsafe statements.statement(sql, on: handle)
        try statement.value.bind(values)
        return statement
    }

    /// The row ID of the last `INSERT`.
    package var lastInsertRowID: Int64 {
        unsafe sqlite3_last_insert_rowid(handle)
    }

    /// Whether the database can only be read, because of the file's permissions or the format version in its header.
    ///
    /// The format version is known only after something was read.
    package var isReadOnly: Bool {
        unsafe sqlite3_db_readonly(handle, "main") == 1
    }

    /// Calls a closure with the C connection, for functions that this type does not wrap.
    borrowing func withHandle<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(handle)
    }
}
