import CResumeSQLite

/// A value that can be bound to a parameter of a statement, in SQLite's storage classes.
package enum SQLiteValue: Sendable, Equatable {
    case null
    /// A 64-bit integer.
    case integer(Int64)
    /// UTF-8 text.
    case text(String)
    /// Bytes.
    case blob([UInt8])
}

/// What can be bound to a parameter; nil stands for `NULL`.
package protocol SQLiteBindable: Sendable {
    /// The value in SQLite's storage classes.
    var sqlite: SQLiteValue { get }
}

/// The parameters of a statement, in order.
package typealias SQLiteValues = [(any SQLiteBindable)?]

extension SQLiteValue: SQLiteBindable {
    package var sqlite: SQLiteValue { self }
}

extension Int64: SQLiteBindable {
    package var sqlite: SQLiteValue { .integer(self) }
}

extension Int: SQLiteBindable {
    package var sqlite: SQLiteValue { .integer(Int64(self)) }
}

extension Bool: SQLiteBindable {
    /// 1 or 0.
    package var sqlite: SQLiteValue { .integer(self ? 1 : 0) }
}

extension String: SQLiteBindable {
    package var sqlite: SQLiteValue { .text(self) }
}

extension [UInt8]: SQLiteBindable {
    package var sqlite: SQLiteValue { .blob(self) }
}

/// A prepared statement, finalized when it is released.
@safe
struct Statement: ~Copyable {
    private let handle: OpaquePointer
    private let sql: String

    init(preparing sql: String, on connection: OpaquePointer) throws(SQLiteError) {
        let pragma = "PRAGMA ignore_check_constraints ="
        let isUnchecked = sql.hasPrefix(Connection.unchecked)
        // In effect as soon as it is prepared. To run it would make SQLite prepare all statements again.
        if isUnchecked { _ = try unsafe Statement(preparing: "\(pragma) ON", on: connection) }
        defer { if isUnchecked { _ = try? unsafe Statement(preparing: "\(pragma) OFF", on: connection) } }
        var handle: OpaquePointer?
        let code = unsafe sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle = unsafe handle else {
            throw unsafe SQLiteError(connection: connection, code: code, sql: sql)
        }
        unsafe self.handle = handle
        self.sql = sql
    }

    deinit {
        unsafe sqlite3_finalize(handle)
    }

    /// Binds all parameters, beginning with the first.
    borrowing func bind(_ values: some Sequence<SQLiteValue>) throws(SQLiteError) {
        let count = unsafe sqlite3_bind_parameter_count(handle)
        var position: Int32 = 0
        for value in values {
            position += 1
            if position <= count { try bind(value, at: position) }
        }
        guard position == count else {
            throw SQLiteError(
                code: .range, message: "\(position) values do not match the number of parameters", sql: sql)
        }
    }

    private borrowing func bind(_ value: SQLiteValue, at position: Int32) throws(SQLiteError) {
        let code =
            switch value {
            case .null:
                unsafe sqlite3_bind_null(handle, position)
            case .integer(let integer):
                unsafe sqlite3_bind_int64(handle, position, integer)
            case .text(var text):
                text.withUTF8 { unsafe resume_sqlite3_bind_text(handle, position, $0.baseAddress, UInt64($0.count)) }
            case .blob(let bytes):
                unsafe bytes.withUnsafeBytes {
                    unsafe resume_sqlite3_bind_blob(handle, position, $0.baseAddress, UInt64($0.count))
                }
            }
        guard code == SQLITE_OK else { throw error(code) }
    }

    /// Advances to the next row.
    ///
    /// - Returns: Whether there is one, which is ``row`` then.
    /// - Throws: ``SQLiteError``.
    borrowing func step() throws(SQLiteError) -> Bool {
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw error(code)
        }
    }

    /// The current row, after ``step()`` returned true.
    var row: Row {
        unsafe Row(statement: handle)
    }

    /// Resets the statement for its next use, which binds all values again.
    borrowing func reset() { unsafe sqlite3_reset(handle) }

    private borrowing func error(_ code: Int32) -> SQLiteError {
        guard let connection = unsafe sqlite3_db_handle(handle) else {
            return SQLiteError(code: ResultCode(rawValue: code), message: "statement without a connection", sql: sql)
        }
        return unsafe SQLiteError(connection: connection, code: code, sql: sql)
    }
}

extension SQLiteError {
    /// Reads the code and message of a connection immediately after a call failed.
    init(connection: OpaquePointer, code: Int32, sql: String?) {
        let extended = unsafe sqlite3_extended_errcode(connection)
        // The connection's last error belongs to this call only if the primary codes are equal.
        let agrees = extended & 0xff == code & 0xff
        let text = unsafe agrees ? sqlite3_errmsg(connection) : sqlite3_errstr(code)
        self.init(
            code: ResultCode(rawValue: agrees ? extended : code),
            message: unsafe text.map { unsafe String(cString: $0) } ?? "no message",
            sql: sql)
    }
}
