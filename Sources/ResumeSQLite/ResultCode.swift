import CResumeSQLite

/// A result code of SQLite, primary or extended.
///
/// In a pattern, a primary code matches its extended codes: `case .busy` also matches `SQLITE_BUSY_SNAPSHOT`. The `==`
/// operator compares exactly. See <https://www.sqlite.org/rescode.html>.
package struct ResultCode: RawRepresentable, Sendable, Hashable {
    /// The code as returned by SQLite.
    package var rawValue: Int32

    /// Wraps a code that SQLite returned.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The primary code: the low eight bits.
    package var primary: ResultCode {
        ResultCode(rawValue: rawValue & 0xff)
    }

    /// Whether `code` is `pattern` or one of its extended codes.
    package static func ~= (pattern: ResultCode, code: ResultCode) -> Bool {
        pattern == code || (pattern == pattern.primary && pattern == code.primary)
    }

    package static let error = ResultCode(rawValue: SQLITE_ERROR)
    static let permission = ResultCode(rawValue: SQLITE_PERM)
    package static let busy = ResultCode(rawValue: SQLITE_BUSY)
    package static let locked = ResultCode(rawValue: SQLITE_LOCKED)
    static let noMemory = ResultCode(rawValue: SQLITE_NOMEM)
    package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
    package static let interrupt = ResultCode(rawValue: SQLITE_INTERRUPT)
    package static let ioError = ResultCode(rawValue: SQLITE_IOERR)
    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let full = ResultCode(rawValue: SQLITE_FULL)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    static let lockProtocol = ResultCode(rawValue: SQLITE_PROTOCOL)
    package static let schema = ResultCode(rawValue: SQLITE_SCHEMA)
    package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
    static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    static let range = ResultCode(rawValue: SQLITE_RANGE)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
}
