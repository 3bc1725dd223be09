/// An error of SQLite: its message, the statement, and advice for the user.
///
/// It never contains the values bound to a statement, since they may be private. Two errors are equal if their extended
/// codes are equal.
package struct SQLiteError: Error, Sendable, Equatable {
    /// The extended result code.
    package var code: ResultCode
    /// The message from `sqlite3_errmsg`.
    package var message: String
    /// The statement with its `?` placeholders, if there was one.
    var sql: String?

    /// Creates an error from the values that SQLite returned.
    init(code: ResultCode, message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// The error for using a closed database.
    static let closed = SQLiteError(code: .misuse, message: "the store is closed")

    /// Whether the error is that the database was closed.
    package var isClosed: Bool { self == .closed && message == Self.closed.message }

    /// What the user can do about it.
    package var advice: String {
        switch code {
        case .busy, .locked:
            "Another process is using the database. Try again, and look for a stopped or very slow process."
        case .full:
            "The file system or a quota is full."
        case .corrupt, .notADatabase:
            "Nothing was deleted."
        case .constraint:
            "A row has an invalid value."
        case .cannotOpen, .permission:
            "Check that the store folder exists and that this user may read and write it."
        case .readOnly:
            "The store or its file system is read-only. Choose a folder that this user may write."
        case .ioError, .lockProtocol:
            "The file system reported an error. Use a local disk, not a network share, and check the system log."
        case .noMemory:
            "Not enough memory was available. Free some memory and try again."
        case .interrupt:
            "The query was cancelled; nothing was changed."
        default:
            "This error is unexpected. Please report it with the statement."
        }
    }

    /// Compares the extended codes.
    package static func == (left: SQLiteError, right: SQLiteError) -> Bool {
        left.code == right.code
    }
}

extension SQLiteError: CustomStringConvertible {
    /// What happened, in which statement, and what to do about it.
    package var description: String {
        let place = sql.map { ", in: \($0)" } ?? ""
        return "SQLite: \(message) (\(code.rawValue))\(place). \(advice)"
    }
}
