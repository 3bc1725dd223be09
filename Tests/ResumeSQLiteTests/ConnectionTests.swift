@testable import ResumeSQLite
import TestSupport
import Testing

extension ResultCode {
    /// The extended codes `SQLITE_BUSY_SNAPSHOT` and `SQLITE_CONSTRAINT_UNIQUE`.
    fileprivate static let busySnapshot = ResultCode(rawValue: 517)
    fileprivate static let constraintUnique = ResultCode(rawValue: 2067)
}

@Suite(.timeLimit(.minutes(5)))
struct ConnectionTests {
    /// An empty database in a separate folder.
    @discardableResult
    static func withConnection<Result>(_ body: (borrowing Connection) throws -> Result) async throws -> Result {
        try await TemporaryFolder.with { folder in
            try Files.write([], to: folder["test.sqlite"])
            let connection = try Connection.open(path: folder["test.sqlite"])
            return try body(connection)
        }
    }

    @Test("A primary code matches its extended codes, an extended one only itself")
    func resultCodes() {
        #expect(ResultCode.busy ~= ResultCode.busySnapshot)
        #expect(!(ResultCode.busySnapshot ~= ResultCode.busy))
        #expect(ResultCode.busySnapshot.primary == .busy)
        #expect(!(ResultCode.full ~= ResultCode.busySnapshot))
        #expect(ResultCode.constraint ~= ResultCode.constraintUnique)
    }

    @Test(
        "Every required pragma is set",
        arguments: [
            ("synchronous", 1), ("wal_autocheckpoint", 0), ("foreign_keys", 1), ("trusted_schema", 0),
            ("cell_size_check", 1), ("mmap_size", 0), ("secure_delete", 1), ("temp_store", 2),
        ] as [(String, Int64)])
    func pragmas(name: String, value: Int64) async throws {
        try await Self.withConnection { connection in
            let found = try connection.integer("PRAGMA \(name)")
            #expect(found == value)
        }
    }

    @Test("Values of every kind are stored and read back")
    func values() async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (i INTEGER, s TEXT, b BLOB, n TEXT) STRICT")
            try connection.run(
                "INSERT INTO t VALUES (?, ?, ?, ?)", Int64.max, "é\u{1F600}", [UInt8]([0, 255, 0]), nil)
            try connection.run("INSERT INTO t VALUES (?, ?, ?, ?)", Int64.min, "", [UInt8](), "x")
            let rows = try connection.rows("SELECT * FROM t ORDER BY rowid") { row in
                (row.integer(0), row.text(1), row.blob(2), row.text(3))
            }
            #expect(rows[0] == (.max, "é\u{1F600}", [0, 255, 0], nil))
            #expect(rows[1] == (.min, "", [], "x"))
        }
    }

    @Test("A column of another type reads as nil, never converted")
    func strictColumns() async throws {
        try await Self.withConnection { connection in
            let row = try connection.first("SELECT '12', 12, x'00'") {
                ($0.integer(0), $0.text(1), $0.text(2), $0.blob(0))
            }
            #expect(row?.0 == nil && row?.1 == nil && row?.2 == nil && row?.3 == nil)
        }
    }

    struct Failure: Error {}

    /// A separate function: with Swift 6.3.1 a closure beside a macro's in one function may be called in place of
    /// another one.
    static func insertAndFail(_ connection: borrowing Connection) throws {
        try connection.transaction(.immediate) {
            _ = try connection.run("INSERT INTO t VALUES (1)")
            throw Failure()
        }
    }

    static func updateDurably(_ connection: borrowing Connection) throws -> Int64? {
        try connection.transaction(.immediate, durability: .power) {
            _ = try connection.run("UPDATE t SET i = 1")
            return try connection.integer("PRAGMA synchronous")
        }
    }

    @Test("A transaction that throws leaves nothing behind, and the next one works")
    func rollback() async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (i INTEGER) STRICT")
            #expect(throws: Failure.self) { try Self.insertAndFail(connection) }
            let isOpen = connection.isInTransaction
            #expect(!isOpen)
            #expect(try connection.integer("SELECT count(*) FROM t") == 0)
            // Twice, because the pragma after it must take effect each time.
            for _ in 1...2 {
                #expect(try Self.updateDurably(connection) == 2)
                #expect(try connection.integer("PRAGMA synchronous") == 1)
            }
            try connection.run("INSERT INTO t VALUES (1)")
            #expect(try connection.integer("SELECT count(*) FROM t") == 1)
            #expect(try connection.integer("PRAGMA synchronous") == 1)
        }
    }

    @Test("An error names code and statement, and never a value")
    func errors() async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (s TEXT UNIQUE) STRICT")
            try connection.run("INSERT INTO t VALUES (?)", "secret")
            let error = #expect(throws: SQLiteError.self) {
                try connection.run("INSERT INTO t VALUES (?)", "secret")
            }
            #expect(error?.code == .constraintUnique)
            #expect(error?.sql == "INSERT INTO t VALUES (?)")
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test("The wrong number of values is an error, not a NULL")
    func wrongNumberOfValues() async throws {
        try await Self.withConnection { connection in
            #expect(throws: SQLiteError(code: .range, message: "")) {
                _ = try connection.run("SELECT ?, ?", 1)
            }
        }
    }

    @Test("A statement without CHECK constraints leaves them to all others")
    func unchecked() async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (s TEXT CHECK (s IN ('a', 'b', 'c')) NOT NULL) STRICT")
            try connection.run("INSERT INTO t VALUES (?)", "a")
            try connection.run("\(Connection.unchecked) INSERT INTO t VALUES (?)", "d")
            for sql in ["INSERT INTO t VALUES (?)", "INSERT INTO t VALUES (?) ON CONFLICT DO UPDATE SET s = 'a'"] {
                #expect(throws: SQLiteError(code: ResultCode(rawValue: 275), message: "")) {
                    try connection.run(sql, "d")
                }
            }
            #expect(throws: SQLiteError.self) {
                try connection.run("\(Connection.unchecked) INSERT INTO t VALUES (NULL)")
            }
            #expect(try connection.integer("SELECT count(*) FROM t") == 2)
            #expect(try connection.integer("PRAGMA ignore_check_constraints") == 0)
        }
    }

    @Test("Many rows are inserted in order, and each statement says how many were", arguments: [0, 1, 3, 64, 150])
    func manyRows(count: Int) async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (i INTEGER UNIQUE, s TEXT) STRICT; INSERT INTO t VALUES (2, 'old')")
            let rows = (0..<count).map { [SQLiteValue.integer(Int64($0)), .text("\($0)")] }
            var (next, sum) = (0, 0)
            try connection.insert("INSERT INTO t", "(?, ?)", rows, ending: "ON CONFLICT DO NOTHING") { part, inserted in
                #expect(part.lowerBound == next)
                (next, sum) = (part.upperBound, sum + inserted)
            }
            #expect(next == count)
            #expect(sum == (count > 2 ? count - 1 : count))
            let found = try connection.rows("SELECT i, s FROM t ORDER BY rowid") {
                "\($0.integer(0) ?? -1) \($0.text(1) ?? "")"
            }
            #expect(found == ["2 old"] + (0..<count).filter { $0 != 2 }.map { "\($0) \($0)" })
        }
    }

    @Test("T41: a symbolic link in place of the database is refused")
    func symbolicLink() async throws {
        try await TemporaryFolder.with { folder in
            try Files.write([], to: folder["real"])
            try await Shell.run("ln", "-s", folder["real"], folder["link"])
            #expect(throws: SQLiteError.self) { _ = try Connection.open(path: folder["link"]).isInTransaction }
        }
    }

    @Test("A long read ends when its task is cancelled, and the connection still works")
    func interrupt() async throws {
        try await TemporaryFolder.with { folder in
            try Files.write([], to: folder["test.sqlite"])
            let path = folder["test.sqlite"]
            let database = Database(label: "test")
            try await database.open { try Connection.open(path: path) }
            let (begun, begin) = AsyncStream<Void>.makeStream()
            let task = Task {
                try await database.read { connection in
                    begin.finish()
                    return try connection.integer(
                        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
                }
            }
            for await _ in begun {}
            task.cancel()
            await #expect(throws: SQLiteError(code: .interrupt, message: "")) { try await task.value }
            #expect(try await database.withConnection { try $0.integer("SELECT 1") } == 1)
            await database.close()
            await #expect(throws: SQLiteError(code: .misuse, message: "")) {
                try await database.withConnection { try $0.integer("SELECT 1") }
            }
        }
    }

    @Test("A statement that returns rows is run to its end, and a query without a row gives nothing")
    func rowsOfStatements() async throws {
        try await Self.withConnection { connection in
            try connection.execute("CREATE TABLE t (i INTEGER) STRICT")
            let count = try connection.run("INSERT INTO t VALUES (1), (2), (3) RETURNING i")
            #expect(count == 3)
            #expect(try connection.count("SELECT count(*) FROM t") == 3)
            #expect(try connection.count("SELECT NULL") == 0)
            #expect(try connection.text("SELECT 'x' FROM t WHERE i = 9") == nil)
        }
    }

    @Test(
        "Each failure comes with advice",
        arguments: [
            (.busySnapshot, "slow process"), (.full, "quota is full"), (.corrupt, "Nothing was deleted"),
            (.constraintUnique, "invalid value"), (.cannotOpen, "may read and write"), (.readOnly, "read-only"),
            (.ioError, "system log"), (.noMemory, "memory"), (.interrupt, "cancelled"), (.range, "report"),
        ] as [(ResultCode, String)])
    func advice(code: ResultCode, part: String) {
        let error = SQLiteError(code: code, message: "it failed")
        #expect(error.advice.contains(part))
        #expect(error.description.contains("it failed (\(code.rawValue)). \(error.advice)"))
    }
}
