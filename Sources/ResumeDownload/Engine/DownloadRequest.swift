public import HTTPTypes
package import ResumeFiles
public import ResumeHTTP
public import ResumeStore

/// What to download, where to, and how.
public struct DownloadRequest: Sendable {
    /// The URL of the file.
    public var url: DownloadURL
    /// The path to which the file is delivered, absolute or relative to the working directory.
    public var destination: String
    /// Lets the server name the file (`Content-Disposition`) in the folder of ``destination``, whose last component is
    /// used if the server does not.
    ///
    /// Existing files are never replaced: if there is one of that name, the download fails with `StoreError` of
    /// `destinationExists`, if possible before anything is fetched or discarded.
    public var usesServerFilename = false
    /// What to do if a file exists at the ``destination``.
    public var ifExists = IfExists.replace
    /// The key of the download in the store; nil for the URL without user info and signature.
    public var key: String?
    /// The resume data that the request was made from.
    ///
    /// If the store no longer has the data it names, an event reports it.
    var resumeData: ResumeData?
    /// Additional header fields.
    ///
    /// Fields that the engine sets itself, such as `Range`, are ignored.
    public var headerFields = HTTPFields()
    /// The names of fields that must not be sent to other origins than the URL's.
    ///
    /// Well-known credentials need not be listed.
    public var secretHeaderFields: Set<HTTPField.Name> = []
    /// The digest that the file must have; nil if unknown.
    ///
    /// It takes precedence over any digest announced by the server. An MD5 or SHA-1 is compared with the complete file,
    /// and changes nothing else: ``DownloadResult/isProved`` is false.
    public var digest: HTTPDigest?
    /// Returns the digest that the file must have, by the names that its response gives it; nil if ``digest`` says it.
    package var digestNamed: (@Sendable ([String]) throws -> HTTPDigest)?
    /// The ranges of the file to download, which are concatenated in the destination; nil for the whole file.
    public var selection: RangeSelection?
    /// How the server is asked to compare the received part with its current version.
    public var condition = ResumePolicy.Condition.ifRange
    /// The URL for the HEAD request that ``condition`` may require; nil for the download's URL.
    ///
    /// Needed if the URL is signed for one method only.
    public var headURL: DownloadURL?
    /// Resumes without a validator if ``digest`` can prove the bytes, or if bytes that are fetched again are unchanged:
    /// the 64 KiB before the first missing byte, and at least 128 samples of 4 KiB of all others, on an even grid.
    ///
    /// Without a digest, the result is not proved (``DownloadResult/isProved``).
    public var allowsUnvalidated = false
    /// The seed for the random offsets; nil for different ones each time.
    var sampleSeed: UInt64?
    /// The path of a partial file of another program to begin with, if the store has no bytes of this download.
    ///
    /// Its bytes are copied into the store, and samples of them are compared with the server's file before the rest is
    /// requested. The file itself is not changed, unless it is the destination of the complete file. Without a digest,
    /// the result is not proved (``DownloadResult/isProved``).
    public var adopts: String?
    /// The value of `Accept-Encoding`.
    ///
    /// With `identity`, encoded responses are refused. Any other value is sent as is, and the response is stored as it
    /// was sent: nothing is ever decoded.
    public var acceptEncoding = "identity"
    /// Called for a new URL or new fields after 401, 403, 404, 407, 410 and 451, while the partial data is kept.
    ///
    /// Returns nil if there are none. An error that it throws ends the download.
    public var refresh: (@Sendable (AuthorizationChallenge) async throws -> RefreshedRequest?)?
    /// Returns the value of `Authorization` for the URL of a request without one, such as after a redirect, and for the
    /// `user:password` that are known for it; nil if these suffice.
    package var authorization: (@Sendable (DownloadURL, _ credentials: String?) -> String?)?
    /// Called before each request, including redirects, to decide whether it is permitted; nil permits all.
    ///
    /// It sees host names, which may resolve to any address; `CurlTransport` can check those as well. No
    /// connection is made to a URL that it forbids.
    public var permits: (@Sendable (DownloadURL) -> Bool)?
    /// The maximum number of concurrent connections for the file, each fetching a different part; up to 16.
    ///
    /// Useful with servers that limit the rate of each connection. Several are opened only for files with a strong
    /// entity tag and a known length of which enough is missing, and kept only while they help. If a server refuses one
    /// or answers with the whole file, no more are opened.
    public var connections = 1
    /// The maximum number of connections for one download.
    package static let mostConnections = 16
    /// Whether to discard the partial data and start over.
    public var restarts = false
    /// Whether to wait for another task or process that downloads the same resource, and then copy its file; false to
    /// fail at once with `StoreError` of `inUse`.
    public var waits = true
    /// How many bytes before the first missing one are fetched again and compared; 0 for none.
    var overlap: Int64 = ResumePolicy.defaultOverlap
    /// The header fields with the content codings; with the URL, they decide which bytes are sent, and who may have
    /// them.
    var identityFields: HTTPFields {
        var fields = headerFields
        fields[.acceptEncoding] = acceptEncoding
        if let given, let name = HTTPField.Name("resumectl-given") { fields[name] = given }
        return fields
    }
    /// The part of the request that decides which bytes are sent, and who may have them.
    var identity: RequestIdentity { RequestIdentity(url, identityFields) }
    /// The options about resuming as a policy.
    var policy: ResumePolicy {
        var policy = ResumePolicy(
            condition: condition, overlap: overlap, allowsUnvalidated: allowsUnvalidated, digest: digest,
            storesCoded: acceptEncoding.lowercased() != "identity")
        policy.secretHeaderFields = secretHeaderFields
        return policy
    }
    /// How often to retry, and with which delays.
    public var retryPolicy = RetryPolicy()
    /// The time during which less than 1 KiB may be received before the connection is closed.
    public var stallTimeout: Duration = .seconds(30)
    /// The timeout, limited to sensible values.
    var boundedStallTimeout: Duration { min(max(stallTimeout, .milliseconds(100)), .seconds(86_400)) }
    /// The number of connections, limited to valid values.
    var boundedConnections: Int { min(max(connections, 1), Self.mostConnections) }
    /// The number of bytes that must be received in each ``stallTimeout``.
    var stallBytes: Int64 = 1024
    /// The rate limit in bytes per second; nil for no limit.
    public var rateLimit: Int64?
    /// The maximum length of the file in bytes; nil for no limit.
    public var maximumLength: Int64?
    /// The clock for detecting stalls and comparing connections; tests replace it.
    var clock: @Sendable () -> ContinuousClock.Instant = { .now }
    /// The clock for waits and for the time of ``retryPolicy``; tests replace it.
    package var waitClock = StoreClock.awake
    /// What the downloads of a run share about their origins; nil if this is the only one.
    var origins: OriginPaces?
    /// Called before a wait of a second or more and after it, and before a small file is delivered together with others,
    /// so that another download can have the place.
    package var onPause: (@Sendable (_ isPaused: Bool) async -> Void)?
    /// Further rate limits besides ``rateLimit``, shared with other downloads.
    package var rateLimiters: [RateLimiter] = []
    /// The rows of queues, which are removed with the delivery, and of jobs, which are done then.
    var queuedRows: [JobTable.QueuedRow] = []
    /// The file that an earlier run has delivered: the server is asked whether it has another one.
    var deliveredFile: DeliveredFile?
    /// Which files at the destination may be replaced.
    package var replacing = Replacing.asIfExists
    /// Whether a file with the server's name is kept whatever it is, and the new one gets a number.
    package var numbersServerFilename = false
    /// Called with the path and length of a file that is read to compare its digest.
    package var onCheck: (@Sendable (String, Int64) -> Void)?
    /// How many bytes the collector removed while the download was paused; reported when it is resumed.
    var evictedBytes: Int64 = 0
    /// A digest of what else the user gives to servers, such as cookies; a part of the identity that is not sent.
    package var given: String?
    /// What a job needs beside the request, and does not store; named as what is asked for again.
    package var needs: [String] = []
    /// Whether the caller of a stream writes its bytes elsewhere as they come, so that a wrong file leaves wrong output.
    package var isPassedOn = false
    /// How many redirects in a row are followed.
    package var mostRedirects = Redirection.limit
    /// The reason for cancelling the task; nil if the task belongs to the caller.
    package var interruption: Interruption?
    /// The key in the store: ``key`` or the URL without user info and signature, and the selection.
    package var storeKey: String { DownloadName.of(url, named: key, selection: selection) }

    /// Checks that the destination, or the folder for a file named by the server, can be written.
    ///
    /// - Returns: The destination.
    /// - Throws: `StoreError` with `destination`.
    package func checkedDestination() throws -> Destination {
        var checked = try Destination(checking: destination, checksName: !usesServerFilename)
        if usesServerFilename { return checked }
        checked.replaces = ifExists == .replace || ifExists == .revalidate
        return checked
    }

    /// Which files at the destination may be replaced.
    package enum Replacing: Sendable, Hashable {
        /// What ``ifExists`` says.
        case asIfExists
        /// Those that this program has delivered and nobody has changed, and those that the user has named.
        case own
        /// Any that is there when the file is complete.
        case any
    }

    /// What to do with a file that exists at the destination.
    @nonexhaustive
    public enum IfExists: String, Sendable, Hashable, CaseIterable {
        /// Replaces it as soon as the download is complete and verified.
        case replace
        /// Keeps it if the server has the same file: the request is conditional (`If-None-Match` or
        /// `If-Modified-Since`), and after 304 the download ends with a result whose ``DownloadResult/isExisting`` is
        /// true. Otherwise it is replaced. A file that has the ``DownloadRequest/digest`` is kept without a request, and
        /// one that has not is replaced.
        ///
        /// The store remembers the validators of files that were downloaded with this option, and whether the file has
        /// changed since then. A ``DownloadStream`` always replaces the file.
        case revalidate
        /// Keeps it without a request: the download ends at once, with a result whose
        /// ``DownloadResult/isExisting`` is true. If it does not have the ``DownloadRequest/digest``, the download fails as
        /// for ``fail``. A ``DownloadStream`` fails as for ``fail``.
        case skip
        /// Keeps it, and fails with `StoreError` of `destinationExists`, before a request if possible.
        case fail
    }

    /// Makes a request with the defaults.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - destination: The path to which the file is delivered.
    public init(_ url: DownloadURL, to destination: String) {
        self.url = url
        self.destination = destination
    }

    /// Makes a request that resumes an earlier download, with defaults for everything that is not in the data.
    ///
    /// Apart from URL, key and selection, the options of the first request must be set again: fields, digest, condition
    /// and so on. If the store no longer has the data, ``DownloadEvent/resumeDataOutdated(reason:)`` says why, and the
    /// download starts over.
    ///
    /// - Parameters:
    ///   - resumeData: The data of the earlier download.
    ///   - destination: The path to which the file is delivered.
    ///   - url: A fresh URL if the original one was signed, had credentials or should not be used again; nil for the
    ///     one in the data. If the server refuses the request (401, 403), ``refresh`` is called and the partial data is
    ///     kept.
    public init(resuming resumeData: ResumeData, to destination: String, at url: DownloadURL? = nil) {
        self.init(url ?? resumeData.url, to: destination)
        self.resumeData = resumeData
        key = resumeData.key ?? resumeData.url.redacted
        selection = resumeData.selection
    }

    /// Whether it asks for a whole file of which nothing is known, at any rate.
    var mayBeSmall: Bool {
        selection == nil && adopts == nil && !restarts && resumeData == nil && !usesServerFilename && digestNamed == nil
            && acceptEncoding == "identity" && rateLimit == nil && !rateLimiters.contains(where: \.isLimiting)
    }

    /// Whether the file at the destination is kept without a request.
    ///
    /// - Throws: `StoreError` with `destinationExists` if the file must not exist.
    func keepsFile(at destination: Destination) throws -> Bool {
        guard ifExists == .skip || ifExists == .fail, !usesServerFilename else { return false }
        if ifExists == .fail { try destination.requireFree() }
        return destination.existingBytes != nil
    }
}

extension DownloadRequest: DownloadKeyConvertible {
    /// The key of the request: ``key`` or the URL without user info and signature, and the selection.
    public var downloadKey: DownloadKey { DownloadKey(rawValue: storeKey) }
}

extension DownloadRequest: CustomStringConvertible {
    /// The URL and destination, without fields, user info and signature, which may be secrets.
    public var description: String { "\(url) to \(Printable.escaped(destination))" }
}
