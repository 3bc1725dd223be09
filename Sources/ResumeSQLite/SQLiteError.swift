/// A failure of SQLite: what it said, on which statement, and what to do about it.
///
/// Values bound to a statement are never part of it: they may be private. Two errors are equal when
/// their extended codes are.
public struct SQLiteError: Error, Sendable, Equatable {
    /// The extended result code.
    public var code: ResultCode
    /// What SQLite said, from `sqlite3_errmsg`.
    public var message: String
    /// The statement with its `?` left in place, where there was one.
    public var sql: String?

    /// Makes an error from what SQLite returned.
    public init(code: ResultCode, message: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.sql = sql
    }

    /// Of a database that was closed.
    static let closed = SQLiteError(code: .misuse, message: "the store is closed")

    /// Whether the database was closed before.
    package var isClosed: Bool { self == .closed && message == Self.closed.message }

    /// What to do about it, for a person.
    public var advice: String {
        switch code {
        case .busy, .locked:
            "Another process holds the database. Try again; look for a process that is stopped or very slow."
        case .full:
            "The file system or its quota is full. Free some space; 'resumectl gc --max-size 0' frees the store's."
        case .corrupt, .notADatabase:
            "The database is damaged; nothing was erased. 'resumectl doctor --rebuild' saves what can be proved."
        case .constraint:
            "A row holds what it cannot. 'resumectl verify --repair' drops what is wrong; else move the folder away."
        case .cannotOpen, .permission:
            "Check that the store folder exists and that this user may read and write it."
        case .readOnly:
            "The store or its file system is read-only. Choose a folder that this user may write."
        case .ioError, .lockProtocol:
            "The file system failed. SQLite's WAL needs a local one: no network share. Look at the system's log."
        case .noMemory:
            "Memory ran out. Try again when there is more."
        case .interrupt:
            "The query was cancelled. Nothing was changed."
        default:
            "This is not expected. Please report it with the statement."
        }
    }

    /// Equality on the extended code.
    public static func == (left: SQLiteError, right: SQLiteError) -> Bool {
        left.code == right.code
    }
}

extension SQLiteError: CustomStringConvertible {
    /// What happened, where, and what to do.
    public var description: String {
        let place = sql.map { ", in: \($0)" } ?? ""
        return "SQLite: \(message) (\(code.rawValue))\(place). \(advice)"
    }
}
