public import ResumeHTTP
public import ResumeStore

/// The result of a delivered download.
public struct DownloadResult: Sendable, Hashable {
    /// The path of the file.
    public var path: String
    /// Its length in bytes.
    public var totalBytes: Int64
    /// How many of them had been received before this call.
    public var reusedBytes: Int64
    /// How many bytes of bodies were received over the network during this call.
    public var fetchedBytes: Int64
    /// The digest that was compared: the caller's or the one that the server announced; nil if there was none.
    public var digest: HTTPDigest?
    /// The content coding of the file if it was stored encoded, such as `gzip`; nil for identity.
    public var contentCoding: String?
    /// False if the server never announced the total length and the file ended with the connection, as it would if cut
    /// off.
    public var isLengthVerified: Bool
    /// False if the file consists of parts of several responses that are not linked by a validator or a digest.
    ///
    /// Only ``DownloadRequest/allowsUnvalidated`` and ``DownloadRequest/adopts`` lead to that. The compared bytes are
    /// equal, but others may belong to different versions of the file.
    public var isProved: Bool
    /// Whether the file existed and was kept, because of ``DownloadRequest/IfExists/skip``; nothing was requested.
    public var isExisting: Bool
    /// If the first bytes were received by another program, how many samples of them agreed with the server's file.
    package var agreedSamples: Int?

    /// Makes a result, such as that of a test double.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - totalBytes: Its length in bytes.
    ///   - reusedBytes: How many of them had been received before.
    ///   - fetchedBytes: How many bytes were received over the network.
    ///   - digest: The digest that was compared.
    public init(
        path: String, totalBytes: Int64, reusedBytes: Int64 = 0, fetchedBytes: Int64 = 0, digest: HTTPDigest? = nil
    ) {
        self.init(
            path: path, totalBytes: totalBytes, reusedBytes: reusedBytes, fetchedBytes: fetchedBytes, digest: digest,
            contentCoding: nil, isLengthVerified: true, isProved: true, agreedSamples: nil)
    }

    init(
        path: String, totalBytes: Int64, reusedBytes: Int64, fetchedBytes: Int64, digest: HTTPDigest?,
        contentCoding: String?, isLengthVerified: Bool, isProved: Bool, isExisting: Bool = false, agreedSamples: Int?
    ) {
        self.path = path
        self.totalBytes = totalBytes
        self.reusedBytes = reusedBytes
        self.fetchedBytes = fetchedBytes
        self.digest = digest
        self.contentCoding = contentCoding
        self.isLengthVerified = isLengthVerified
        self.isProved = isProved
        self.isExisting = isExisting
        self.agreedSamples = agreedSamples
    }
}

/// The failure of a download.
///
/// The partial data is kept unless the reason says otherwise.
public struct DownloadError: Error, Sendable, Equatable {
    /// The kind of failure.
    ///
    /// New codes may be added.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name, stable from release to release.
        public let rawValue: String

        /// Makes a code.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The server refused the request permanently or sent something else.
        public static let refused = Code(rawValue: "refused")
        /// The content does not have the expected digest.
        public static let digestMismatch = Code(rawValue: "digest-mismatch")
        /// No retries are left, or the server cannot be reached; running the download again later may help.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The server's content or validator changes between responses.
        public static let unstable = Code(rawValue: "unstable")
        /// The file exceeds the permitted length.
        public static let tooLarge = Code(rawValue: "too-large")
        /// The file was replaced after a reader of a ``DownloadStream`` had received bytes of the old version.
        public static let representationChanged = Code(rawValue: "representation-changed")

        /// Whether the same request fails again until it, or the server, changes.
        var isForGood: Bool { [.refused, .digestMismatch, .tooLarge].contains(self) }
    }

    /// The kind of failure.
    public var code: Code
    /// The reason in detail.
    public var reason: Reason
    /// The last HTTP status, if there was one.
    public var status: Int?
    /// The data to resume the download; nil if nothing was received or it cannot be resumed.
    public internal(set) var resumeData: ResumeData?
    /// The underlying error.
    public var cause: (any Error)?

    /// Makes an error, such as that of a test double.
    public init(_ code: Code, _ reason: Reason, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.status = status
        self.cause = cause
    }

    /// Whether the download can be resumed, possibly with a fresh URL or other credentials, depending on ``status``.
    public var isResumable: Bool { resumeData != nil }

    /// Compares the codes and statuses.
    public static func == (left: DownloadError, right: DownloadError) -> Bool {
        left.code == right.code && left.status == right.status
    }
}

extension DownloadError: CustomStringConvertible {
    /// The reason in words.
    public var description: String { reason.text }
}
