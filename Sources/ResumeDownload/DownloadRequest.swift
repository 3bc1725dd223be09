public import HTTPTypes
public import ResumeHTTP

/// What to download, to where, and how patiently.
public struct DownloadRequest: Sendable {
    /// What to ask for.
    public var url: DownloadURL
    /// The file that the download becomes: an absolute path, or one relative to the working folder.
    public var destination: String
    /// What names the download in the store; nil for the URL without user info and signature.
    public var key: String?
    /// The caller's own fields.
    ///
    /// Those that the plan decides on (`Range` and so on) are left out.
    public var fields = HTTPFields()
    /// Names of fields that must not go to another origin than the URL's; credentials are known without.
    public var secretFields: Set<HTTPField.Name> = []
    /// The SHA-256 that the whole must have, 32 bytes; nil where it is not known.
    public var sha256: [UInt8]?
    /// Drop what is held and begin anew.
    public var restarts = false
    /// Wait for somebody else who works on the same download, then take a copy; false to fail at once.
    public var waits = true
    /// Bytes before the first missing one that are fetched again and compared; 0 turns it off.
    public var overlap: Int64 = Plan.defaultOverlap
    /// How often and how long to try again.
    public var limits = RetryBudget.Limits()
    /// How long, in seconds, less than ``stallBytes`` may come before the connection is given up.
    public var stallTimeout: Double = 30
    /// The timeout as a number that a clock can take.
    var boundedStallTimeout: Double { stallTimeout.isFinite ? min(max(stallTimeout, 0.1), 86_400) : 86_400 }
    /// How many bytes must come in each ``stallTimeout``.
    public var stallBytes: Int64 = 1024
    /// The highest rate, in bytes a second; nil for no limit.
    public var rateLimit: Int64?
    /// The most bytes that the whole may have; nil for no limit.
    public var maximumLength: Int64?

    /// Makes a request with the defaults.
    ///
    /// - Parameters:
    ///   - url: What to ask for.
    ///   - destination: The file that the download becomes.
    public init(_ url: DownloadURL, to destination: String) {
        self.url = url
        self.destination = destination
    }
}

/// Something that happened during a download, for whoever shows it.
public enum DownloadEvent: Sendable, Hashable {
    /// Somebody else works on the same download; it is waited for.
    case waiting
    /// A first answer was accepted; nothing had been held.
    case started(totalBytes: Int64?)
    /// It continues at an offset with what was held before.
    case resumed(offset: Int64, totalBytes: Int64?)
    /// It began anew although bytes were held.
    case restarted(reason: Reason, totalBytes: Int64?)
    /// So many bytes are there. It grows, but for a restart.
    case progress(receivedBytes: Int64, totalBytes: Int64?)
    /// It will be tried again.
    case retrying(reason: Reason, afterSeconds: Double)
    /// It was delivered.
    case finished(DownloadResult)
}

/// A download that was delivered.
public struct DownloadResult: Sendable, Hashable {
    /// The file.
    public var path: String
    /// Its length in bytes.
    public var totalBytes: Int64
    /// How many of them were held before this call and kept.
    public var reusedBytes: Int64
    /// How many bytes of bodies came over the network in this call.
    public var fetchedBytes: Int64
    /// The SHA-256, where it was computed.
    public var sha256: [UInt8]?
    /// False where the server never said how long the whole is: it ended with its connection, as a cut would.
    public var isLengthVerified: Bool
}

/// A download that was given up.
///
/// What came is kept unless the text says otherwise.
public struct DownloadError: Error, Sendable, Equatable {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public enum Code: String, Sendable, Hashable {
        /// The server said no for good, or sent something else.
        case refused
        /// The content does not have the expected digest.
        case digestMismatch = "digest-mismatch"
        /// The tries are used up, or there is no way to the server; running it again later may help.
        case unreachable
        /// The server's content or validator changes from answer to answer.
        case unstable
        /// The whole is longer than what was allowed.
        case tooLarge = "too-large"
    }

    /// The kind of failure.
    public var code: Code
    /// Why.
    public var reason: Reason
    /// The last HTTP status, where there was one.
    public var status: Int?
    /// What caused it.
    public var cause: (any Error)?

    init(_ code: Code, _ reason: Reason, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
        self.cause = cause
    }

    /// Whether running the same again may go on from what is held.
    public var isResumable: Bool { code == .unreachable || code == .unstable }

    /// Equality on code and status.
    public static func == (left: DownloadError, right: DownloadError) -> Bool {
        left.code == right.code && left.status == right.status
    }
}

extension DownloadError: CustomStringConvertible {
    /// The reason in words.
    public var description: String { reason.text }
}
