public import ResumeHTTP

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
    public var isLengthVerified = true
    /// False if the file consists of parts of several responses that are not linked by a validator or a digest, or if the
    /// ``digest`` is an MD5 or SHA-1, which can be forged.
    ///
    /// Only ``DownloadRequest/allowsUnvalidated`` and ``DownloadRequest/adopts`` lead to the former. The compared bytes
    /// are equal, but others may belong to different versions of the file.
    public var isProved: Bool
    /// Whether the file existed and was kept: nothing was requested (``DownloadRequest/IfExists/skip``), or the server
    /// has confirmed that the file has not changed (``DownloadRequest/IfExists/revalidate``).
    public var isExisting = false
    /// Why the file was kept; nil if it was not.
    package var kept: Kept?

    /// Why a file is kept.
    package enum Kept: Sendable, Hashable {
        case exists
        /// An earlier run or another process has delivered it.
        case done
        /// The server says that it has not changed.
        case unchanged
        /// It has the digest that the caller names, as was found at a time in milliseconds since 1970; 0 for just now.
        case right(checkedAt: Int64)
        /// The server has sent the same bytes.
        case same
    }

    /// If the first bytes were received by another program, how many samples of them agreed with the server's file.
    package var agreedSamples: Int?
    /// The field Content-Type of the response; nil if the server sent none, or if the file was kept.
    package var contentType: String?

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
        self.path = path
        self.totalBytes = totalBytes
        self.reusedBytes = reusedBytes
        self.fetchedBytes = fetchedBytes
        self.digest = digest
        isProved = digest?.isProof ?? true
    }
}

/// How a download ended.
typealias DownloadOutcome = Result<DownloadResult, any Error>
