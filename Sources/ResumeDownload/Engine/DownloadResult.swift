public import ResumeHTTP
public import ResumeStore

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
    /// The digest that was compared: the caller's, or the one that the server announced; nil where there was none.
    public var digest: HTTPDigest?
    /// How the file is coded, where it was stored as it was sent: `gzip` and so on; nil for identity.
    public var contentCoding: String?
    /// False where the server never said how long the whole is: it ended with its connection, as a cut would.
    public var isLengthVerified: Bool
    /// False where parts of several responses were put together that no validator and no digest ties to one another.
    ///
    /// Only ``DownloadRequest/allowsUnvalidated`` leads to that: the bytes that were compared are the same, and others
    /// may belong to different versions of the file.
    public var isProved: Bool
}

/// A download that was given up.
///
/// What came is kept unless the text says otherwise.
public struct DownloadError: Error, Sendable, Equatable {
    /// What kind of failure it is.
    ///
    /// New ones may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, stable from release to release.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server said no for good, or sent something else.
        public static let refused = Code(rawValue: "refused")
        /// The content does not have the expected digest.
        public static let digestMismatch = Code(rawValue: "digest-mismatch")
        /// The tries are used up, or there is no way to the server; running it again later may help.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The server's content or validator changes from answer to answer.
        public static let unstable = Code(rawValue: "unstable")
        /// The whole is longer than what was allowed.
        public static let tooLarge = Code(rawValue: "too-large")
        /// The file was replaced after a reader of a ``DownloadStream`` had been given bytes of the old one.
        public static let representationChanged = Code(rawValue: "representation-changed")

        /// Whether the same request fails again until it, or the server, is changed.
        var isForGood: Bool { [.refused, .digestMismatch, .tooLarge].contains(self) }
    }

    /// The kind of failure.
    public var code: Code
    /// Why.
    public var reason: Reason
    /// The last HTTP status, where there was one.
    public var status: Int?
    /// What names what is held, to go on with it; nil where nothing is, or where it cannot be gone on with.
    public internal(set) var resumeData: ResumeData?
    /// What caused it.
    public var cause: (any Error)?

    init(_ code: Code, _ reason: Reason, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
        self.cause = cause
    }

    /// Whether it can be gone on with what is held: with a fresh URL or other credentials where ``status`` says so.
    public var isResumable: Bool { resumeData != nil }

    /// Equality on code and status.
    public static func == (left: DownloadError, right: DownloadError) -> Bool {
        left.code == right.code && left.status == right.status
    }
}

extension DownloadError: CustomStringConvertible {
    /// The reason in words.
    public var description: String { reason.text }
}
