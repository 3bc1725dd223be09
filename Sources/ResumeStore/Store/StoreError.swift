internal import ResumeFiles
package import ResumeHTTP
internal import ResumeSQLite

/// A failure of the store: what happened, what to do about it, and what caused it.
///
/// Two errors are equal when their codes are.
public struct StoreError: Error, Sendable, Equatable {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, stable from release to release.
        public let description: String

        private init(_ name: String) { description = name }

        /// There is no store at that place.
        public static let noStore = Code("no-store")
        /// The folder or a file in it is not what a store has there: a link, a device, another program's file.
        public static let notAStore = Code("not-a-store")
        /// The database is damaged.
        public static let damaged = Code("damaged")
        /// The database was made by a newer release.
        public static let newerStore = Code("newer-store")
        /// SQLite's write-ahead log does not work on this file system.
        public static let unsupportedFileSystem = Code("unsupported-file-system")
        /// The SQLite library is too old.
        public static let unsupportedSQLite = Code("unsupported-sqlite")
        /// No such entry.
        public static let noEntry = Code("no-entry")
        /// Another process or task has the entry, and the caller did not want to wait.
        public static let inUse = Code("in-use")
        /// Another process has a lock for too long.
        public static let busy = Code("busy")
        /// The entry was started over or removed by somebody else meanwhile.
        public static let superseded = Code("superseded")
        /// The destination cannot be written.
        public static let destination = Code("destination")
        /// The destination is there already, and is not to be replaced.
        public static let destinationExists = Code("destination-exists")
        /// Whether another destination may do.
        package var isOfDestination: Bool { self == .destination || self == .destinationExists }
        /// No space, or over a quota or limit.
        public static let noSpace = Code("no-space")
        /// More bytes than may be held in memory.
        public static let tooLarge = Code("too-large")
        /// More is held where something was to be moved to.
        public static let holdsMore = Code("holds-more")
        /// The file system failed.
        public static let io = Code("io")
        /// SQLite failed in another way.
        public static let database = Code("database")
        /// The held bytes and the server's differ.
        public static let heldBytesDiffer = Code("held-bytes-differ")
        /// The body is longer than its Content-Range or length allows.
        public static let surplusBytes = Code("surplus-bytes")
        /// The bytes that were to be read are not held.
        public static let notHeld = Code("not-held")
        /// The process was forked from one that had opened a store.
        ///
        /// The calls of a ``Transfer``, an actor, cannot throw it: they stop such a process with a message.
        public static let forkedChild = Code("forked-child")
        /// A call that does not fit the state, such as a write before a response head.
        public static let misuse = Code("misuse")
    }

    /// The kind of failure.
    public var code: Code
    /// What happened, in one sentence.
    public var message: String
    /// What to do about it; empty where the message says all.
    public var advice: String
    /// What caused it, such as a `SQLiteError` or a ``SystemError``.
    public var cause: (any Error)?

    /// Makes an error.
    public init(_ code: Code, _ message: String, advice: String = "", cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.advice = advice
        self.cause = cause
    }

    /// Equality on the code.
    public static func == (left: StoreError, right: StoreError) -> Bool {
        left.code == right.code
    }
}

extension StoreError {
    /// Refuses to work in a forked child, where every lock is the parent's and no thread would ever answer.
    ///
    /// To be called before anything waits; it costs one look at memory.
    package static func refuseForkedChild() throws(StoreError) {
        guard ForkedChild.isCurrent else { return }
        throw StoreError(
            .forkedChild, "this process is a fork of one with an open store, and the store's threads do not run in it",
            advice: "Use stores only in the parent, or run a program (exec) in the child and open the store there.")
    }
}

extension StoreError: CustomStringConvertible {
    /// Message and advice.
    public var description: String {
        advice.isEmpty ? message : "\(message). \(advice)"
    }
}

extension StoreError {
    /// What to do about a damaged database.
    static let rebuildAdvice =
        "Run 'resumectl doctor --rebuild' to recover all data that can be verified, or move the folder away."

    /// Wraps what SQLite or the file system reported; leaves a ``StoreError`` as it is.
    package init(wrapping error: any Error, at path: String? = nil) {
        let place = path.map { " at \($0)" } ?? ""
        switch error {
        case let error as StoreError:
            self = error
        case let error as SQLiteError where error.isClosed:
            self.init(.misuse, "the store is closed", advice: "Open it again, or close it later.")
        case let error as SQLiteError:
            let code: Code =
                switch error.code {
                // The rows that this library writes meet every check: what does not was not written by it.
                case .corrupt, .notADatabase, .constraint: .damaged
                case .full: .noSpace
                case .busy, .locked: .busy
                case .ioError, .cannotOpen, .readOnly: .io
                default: .database
                }
            self.init(
                code, "the store's database\(place) failed: \(error.message)", advice: error.advice, cause: error)
        case let error as SystemError:
            let place = path.map { ", in the store at \($0)" } ?? ""
            let advice =
                error.isOutOfSpace
                ? "Free some space; the partial data is kept."
                : error.isRefused
                    ? "This user may not write there. Run as the owner, or choose another store with --store." : ""
            self.init(
                error.isOutOfSpace ? .noSpace : .io, "\(error.description)\(place)", advice: advice, cause: error)
        default:
            self.init(.io, "\(error)", cause: error)
        }
    }
}

extension Reason {
    /// What the store found wrong with bytes that are held, as a reason to begin anew.
    package static func heldBytesDiffer(_ error: StoreError) -> Reason {
        Reason(code: .init(rawValue: error.code.description), text: error.message)
    }
}
