import ResumeFiles
import ResumeHTTP
import ResumeSQLite

/// An error of the store: what happened, what to do about it, and the cause.
///
/// Two errors are equal if their codes are equal.
public struct StoreError: Error, Sendable, Equatable {
    /// The kind of error; codes may be added in later releases.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name, which does not change between releases.
        public let description: String

        private init(_ name: String) { description = name }

        /// There is no store in the folder.
        public static let noStore = Code("no-store")
        /// The folder or a file in it cannot belong to a store: it is a link, a device, or another program's file.
        public static let notAStore = Code("not-a-store")
        /// The database is damaged.
        public static let damaged = Code("damaged")
        /// The database was created by a newer release.
        public static let newerStore = Code("newer-store")
        /// SQLite's write-ahead log does not work on this file system.
        public static let unsupportedFileSystem = Code("unsupported-file-system")
        /// The SQLite library is too old.
        static let unsupportedSQLite = Code("unsupported-sqlite")
        /// There is no such entry.
        package static let noEntry = Code("no-entry")
        /// Another process or task is using the entry, and the caller does not wait.
        public static let inUse = Code("in-use")
        /// Another process has held a lock for too long.
        public static let busy = Code("busy")
        /// The entry was restarted or removed by another process or task in the meantime.
        package static let superseded = Code("superseded")
        /// The destination cannot be written.
        public static let destination = Code("destination")
        /// The destination exists already and must not be replaced.
        public static let destinationExists = Code("destination-exists")
        /// Whether another destination may work.
        package var isOfDestination: Bool { self == .destination || self == .destinationExists }
        /// There is no space left, or a quota or limit is exceeded.
        public static let noSpace = Code("no-space")
        /// The store's size limit has no room for the download, and is binding.
        package static let overLimit = Code("over-limit")
        /// The download has more bytes than are allowed in memory.
        public static let tooLarge = Code("too-large")
        /// The store that data is moved to already has more bytes of the download.
        package static let holdsMore = Code("holds-more")
        /// The file system reported an error.
        public static let io = Code("io")
        /// SQLite reported another error.
        package static let database = Code("database")
        /// The stored bytes differ from those of the server.
        public static let heldBytesDiffer = Code("held-bytes-differ")
        /// The body is longer than its Content-Range or length allows.
        package static let surplusBytes = Code("surplus-bytes")
        /// The bytes to read are not stored.
        public static let notHeld = Code("not-held")
        /// The process was forked from one with an open store.
        ///
        /// The methods of ``Transfer``, an actor, cannot throw it: they stop the process with a message.
        static let forkedChild = Code("forked-child")
        /// A call that is not valid in the current state, such as a write before the head of a response.
        package static let misuse = Code("misuse")
    }

    /// The kind of error.
    public var code: Code
    /// What happened, in one sentence.
    public var message: String
    /// Further facts, or what to do about it; empty if the message is sufficient.
    var advice: String
    /// What removes the cause; nil if the advice says it, or nothing does.
    package var remedy: Remedy?
    /// The underlying error.
    public var cause: (any Error)?
    /// The number of the failed system call's error (`errno`); nil if another kind of error is the cause.
    public var errorNumber: Int32? { (cause as? SystemError)?.number }
    /// The path that the failed system call was given; nil if another kind of error is the cause.
    package var path: String? { (cause as? SystemError)?.path }

    /// Creates an error, such as that of a test double.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.init(code, message, advice: "", cause: cause)
    }

    /// Creates an error with advice or a remedy.
    package init(
        _ code: Code, _ message: String, advice: String = "", remedy: Remedy? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.advice = advice
        self.remedy = remedy
        self.cause = cause
    }

    /// Creates an error whose message and advice are a line of `reasons.txt`.
    package init(_ code: Code, _ reason: Reason, remedy: Remedy? = nil, cause: (any Error)? = nil) {
        self.init(code, reason.text, advice: reason.advice, remedy: remedy, cause: cause)
    }

    /// Compares the codes.
    public static func == (left: StoreError, right: StoreError) -> Bool {
        left.code == right.code
    }

    /// Throws in a forked child, where all locks belong to the parent and the store's threads do not run.
    ///
    /// It must be called before anything waits; it only reads memory.
    package static func refuseForkedChild() throws(StoreError) {
        guard ForkedChild.isCurrent else { return }
        throw StoreError(.forkedChild, Reason("forked-child"))
    }
}

extension StoreError: CustomStringConvertible {
    /// The message, and what to do about it.
    public var description: String { description(with: remedy?.text) }

    /// Returns the description with other words for the remedy.
    package func description(with remedy: String?) -> String {
        let rest = [advice, remedy ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
        return rest.isEmpty ? message : "\(message). \(rest)"
    }
}

extension StoreError {
    /// Runs a closure that uses SQLite or the file system, and wraps its error.
    package static func wrapping<Result>(at path: String? = nil, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            throw StoreError(wrapping: error, at: path)
        }
    }

    /// Wraps an error of SQLite or the file system; keeps a ``StoreError`` as it is.
    init(wrapping error: any Error, at path: String? = nil) {
        let place = path.map { " at \($0)" } ?? ""
        switch error {
        case let error as StoreError:
            self = error
        case let error as SQLiteError where error.isClosed:
            self.init(.misuse, Reason("store-closed"))
        case let error as SQLiteError:
            let (code, remedy): (Code, Remedy?) =
                switch error.code {
                case .corrupt, .notADatabase: (.damaged, .rebuild)
                // Rows written by this library satisfy every check, so others were not written by it.
                case .constraint: (.damaged, .repair)
                case .full: (.noSpace, .freeSpace)
                case .busy, .locked: (.busy, nil)
                case .ioError, .cannotOpen, .readOnly: (.io, nil)
                default: (.database, nil)
                }
            self.init(
                code, "the store's database\(place) failed: \(error.message)", advice: error.advice, remedy: remedy,
                cause: error)
        case let error as SystemError:
            let isFull = error.isOutOfSpace
            let remedy: Remedy? = error.isRefused && !isFull ? .writableStore : nil
            let reason = Reason(isFull ? "no-space" : "failed-call", with: error)
            self.init(isFull ? .noSpace : .io, reason, remedy: remedy, cause: error)
        default:
            self.init(.io, "\(error)", cause: error)
        }
    }
}
