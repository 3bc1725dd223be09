import CResumeSQLite

/// The current row of a statement, valid only inside the closure that receives it.
///
/// Columns are numbered from 0. A column with another type than requested is read as nil and never converted: the
/// tables are `STRICT`, so another type means that the row is damaged.
@safe
package struct Row: ~Copyable {
    private let statement: OpaquePointer

    init(statement: OpaquePointer) {
        unsafe self.statement = statement
    }

    /// Returns the integer in a column, nil if it has another type.
    package func integer(_ column: Int) -> Int64? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_INTEGER else { return nil }
        return unsafe sqlite3_column_int64(statement, index)
    }

    /// Returns the text in a column, nil if it has another type; invalid UTF-8 is repaired.
    package func text(_ column: Int) -> String? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_TEXT,
            let start = unsafe sqlite3_column_text(statement, index)
        else { return nil }
        let size = Int(unsafe sqlite3_column_bytes(statement, index))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: size), as: UTF8.self)
    }

    /// Returns the bytes in a column, nil if it has another type.
    package func blob(_ column: Int) -> [UInt8]? {
        let index = Int32(truncatingIfNeeded: column)
        guard unsafe sqlite3_column_type(statement, index) == SQLITE_BLOB else { return nil }
        let size = Int(unsafe sqlite3_column_bytes(statement, index))
        guard let start = unsafe sqlite3_column_blob(statement, index) else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: size))
    }
}
