internal import CResumeSQLite

/// The row a statement stands on, valid only inside the closure that is handed it.
///
/// Columns count from 0. A column of another type than asked for reads as nil, never as a conversion:
/// the tables are `STRICT`, so another type means a damaged row.
@safe
public struct Row: ~Copyable {
    private let statement: OpaquePointer

    init(statement: OpaquePointer) {
        unsafe self.statement = statement
    }

    /// The integer in a column, nil where it holds none.
    public func integer(_ column: Int) -> Int64? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(statement, index)
    }

    /// The text in a column, nil where it holds none.
    ///
    /// Invalid UTF-8 is repaired.
    public func text(_ column: Int) -> String? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_TEXT,
            let start = unsafe sqlite3_column_text(statement, index)
        else { return nil }
        let size = Int(unsafe sqlite3_column_bytes(statement, index))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: size), as: UTF8.self)
    }

    /// The bytes in a column, nil where it holds none.
    public func blob(_ column: Int) -> [UInt8]? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_BLOB else { return nil }
        let size = Int(unsafe sqlite3_column_bytes(statement, index))
        guard let start = unsafe sqlite3_column_blob(statement, index) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
    }
}
