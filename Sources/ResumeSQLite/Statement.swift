internal import CResumeSQLite

/// A value that can be bound to a parameter of a statement, in SQLite's storage classes.
package enum SQLiteValue: Sendable, Equatable {
    /// `NULL`
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
    borrowing func bind(_ values: [(any SQLiteBindable)?]) throws(SQLiteError) {
        guard unsafe values.count == Int(sqlite3_bind_parameter_count(handle)) else {
            throw SQLiteError(
                code: .range, message: "\(values.count) values do not match the number of parameters", sql: sql)
        }
        for (index, value) in values.enumerated() {
            let position = Int32(truncatingIfNeeded: index + 1)
            let code =
                switch value?.sqlite ?? .null {
                case .null:
                    unsafe sqlite3_bind_null(handle, position)
                case .integer(let integer):
                    unsafe sqlite3_bind_int64(handle, position, integer)
                case .text(var text):
                    text.withUTF8 { utf8 in
                        unsafe utf8.withMemoryRebound(to: CChar.self) { characters in
                            // A nil base address would bind NULL instead of an empty text.
                            unsafe resume_sqlite3_bind_text(
                                handle, position, characters.baseAddress ?? emptyText, UInt64(characters.count))
                        }
                    }
                case .blob(let bytes):
                    unsafe bytes.withUnsafeBytes { buffer in
                        unsafe buffer.isEmpty
                            ? sqlite3_bind_zeroblob(handle, position, 0)
                            : resume_sqlite3_bind_blob(handle, position, buffer.baseAddress, UInt64(buffer.count))
                    }
                }
            guard code == SQLITE_OK else { throw error(code) }
        }
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

    /// Resets the statement for its next use and clears its values.
    borrowing func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    private borrowing func error(_ code: Int32) -> SQLiteError {
        guard let connection = unsafe sqlite3_db_handle(handle) else {
            return SQLiteError(code: ResultCode(rawValue: code), message: "statement without a connection", sql: sql)
        }
        return unsafe SQLiteError(connection: connection, code: code, sql: sql)
    }
}

/// The address of an empty C string that lives as long as the process.
private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    let text: StaticString = ""
    return unsafe UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}()

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
