public import HTTPTypes
public import ResumeHTTP
public import ResumeStore

/// What to download, to where, and how patiently.
public struct DownloadRequest: Sendable {
    /// What to ask for.
    public var url: DownloadURL
    /// The file that the download becomes: an absolute path, or one relative to the working folder.
    public var destination: String
    /// Lets the server name the file (`Content-Disposition`), in the folder of ``destination``, whose own name is for
    /// servers that do not.
    ///
    /// Such a file replaces no other: where there is one of that name, the download fails with
    /// `StoreError` of `destinationExists`, as far as possible before anything is fetched or given up for it.
    public var usesServerFilename = false
    /// What names the download in the store; nil for the URL without user info and signature.
    public var key: String?
    /// What it goes on with, where it was made from that: if the store holds it no more, an event says so.
    public internal(set) var resumeData: ResumeData?
    /// The caller's own fields.
    ///
    /// Those that the plan decides on (`Range` and so on) are left out.
    public var fields = HTTPFields()
    /// Names of fields that must not go to another origin than the URL's; credentials are known without.
    public var secretFields: Set<HTTPField.Name> = []
    /// The digest that the file must have; nil where it is not known.
    ///
    /// It is believed before any field of the server.
    public var digest: HTTPDigest?
    /// What is wanted of the file: its ranges, one after the other, become the destination; nil for all of it.
    public var selection: RangeSelection?
    /// How the server is made to compare what is held with what it has.
    public var condition = ResumePolicy.Condition.ifRange
    /// Where the HEAD goes that ``condition`` may ask for; nil for the download's URL.
    ///
    /// A URL may be signed for one method only.
    public var headURL: DownloadURL?
    /// Goes on without a validator if ``digest`` can prove the bytes, or if those that are fetched again are the same:
    /// the 64 KiB before the first missing byte, the first 64 KiB, and 64 KiB at each of three random offsets.
    ///
    /// Without a digest the result is not proved (``DownloadResult/isProved``).
    public var allowsUnvalidated = false
    /// What the random places depend on; nil for others each time.
    package var spotCheckSeed: UInt64?
    /// The value of `Accept-Encoding`.
    ///
    /// `identity` refuses what is coded all the same. Anything else is sent as it stands, and what comes is stored as it
    /// was sent: nothing is ever decoded.
    public var acceptEncoding = "identity"
    /// Asked for a new URL or new fields after 401, 403, 407 and 451, while what is held is kept.
    ///
    /// Returns nil where there is none; what it throws ends the download.
    public var renewal: (@Sendable (Refusal) async throws -> Renewal?)?
    /// Asked before each request, redirects included, whether it may go there; nil permits all.
    ///
    /// It sees names, which may stand for any address: `AsyncHTTPTransport` can be asked to look at those. What it
    /// forbids, nobody connects to.
    public var permits: (@Sendable (DownloadURL) -> Bool)?
    /// Over how many connections the file is fetched at a time, at most, each for a part of its own; up to
    /// ``mostConnections``.
    ///
    /// For servers that limit what one connection gets. More than one are opened only for a file with a strong entity tag
    /// and a known length, of which enough is missing, and kept only while they help: a server that refuses one, or
    /// answers it with the whole file, gets no more. With HTTP/2 they are streams of one connection.
    public var connections = 1
    /// The most connections for one download.
    public static let mostConnections = 16
    /// Drop what is held and begin anew.
    public var restarts = false
    /// Wait for somebody else who works on the same download, then take a copy; false to fail at once.
    public var waits = true
    /// Bytes before the first missing one that are fetched again and compared; 0 turns it off.
    public var overlap: Int64 = ResumePolicy.defaultOverlap
    /// The caller's own fields with the codings: with the URL, what decides which bytes come, and who may have them.
    var identityFields: HTTPFields {
        var fields = fields
        fields[.acceptEncoding] = acceptEncoding
        return fields
    }
    /// What of it decides which bytes come, and who may have them.
    var identity: RequestIdentity { RequestIdentity(url, identityFields) }
    /// The terms, put together.
    var policy: ResumePolicy {
        ResumePolicy(
            condition: condition, overlap: overlap, allowsUnvalidated: allowsUnvalidated, hasDigest: digest != nil,
            storesCoded: acceptEncoding.lowercased() != "identity")
    }
    /// How often and how long to try again.
    public var limits = RetryBudget.Limits()
    /// How long, in seconds, less than ``stallBytes`` may come before the connection is given up.
    public var stallTimeout: Double = 30
    /// The timeout as a number that a clock can take.
    var boundedStallTimeout: Double { stallTimeout.isFinite ? min(max(stallTimeout, 0.1), 86_400) : 86_400 }
    /// The connections as a number that makes sense.
    var boundedConnections: Int { min(max(connections, 1), Self.mostConnections) }
    /// How many bytes must come in each ``stallTimeout``.
    public var stallBytes: Int64 = 1024
    /// The highest rate, in bytes a second; nil for no limit.
    public var rateLimit: Int64?
    /// The most bytes that the whole may have; nil for no limit.
    public var maximumLength: Int64?
    /// The clock that finds stalls and compares several connections; tests stop it.
    package var clock: @Sendable () -> ContinuousClock.Instant = { .now }
    /// What limits the rate beside ``rateLimit``, shared with other downloads.
    var rateLimiters: [RateLimiter] = []
    /// The row of a queue that goes with the delivery.
    var queuedRow: Int64?
    /// How many bytes the collector removed while it was paused; told when it goes on.
    var evictedBytes: Int64 = 0
    /// Told the length of a small file before it is delivered together with others: until then it needs no connection.
    package var onReceived: (@Sendable (Int64) -> Void)?
    /// Says why its task was cancelled; nil for a task of the caller's own.
    package var interruption: Interruption?
    /// What names the download in the store: ``key`` or the URL without user info and signature, and the selection.
    public var storeKey: String { DownloadStore.key(of: url, named: key, selection: selection) }

    /// The destination, or the folder of what the server names, which can be written.
    ///
    /// - Returns: The destination.
    /// - Throws: `StoreError` with `destination`.
    package func checkedDestination() throws -> Destination {
        try usesServerFilename ? Destination(checkingFolderOf: destination) : Destination(checking: destination)
    }

    /// Makes a request with the defaults.
    ///
    /// - Parameters:
    ///   - url: What to ask for.
    ///   - destination: The file that the download becomes.
    public init(_ url: DownloadURL, to destination: String) {
        self.url = url
        self.destination = destination
    }

    /// Makes a request that goes on with what was interrupted, with the defaults for all that is not in the data.
    ///
    /// Set what the first request had beside URL, key and selection anew: fields, digest, condition and so on. Where the
    /// store holds nothing of it any more, ``DownloadEvent/resumeDataOutdated(reason:)`` says why, and it begins anew.
    ///
    /// - Parameters:
    ///   - resumeData: What to go on with.
    ///   - destination: The file that the download becomes.
    ///   - url: A fresh URL, where the first one was signed, had credentials, or is not to be asked any more; nil for that
    ///     of the data. Without one a server may refuse (401, 403): then ``renewal`` is asked, and what is held stays.
    public init(resuming resumeData: ResumeData, to destination: String, at url: DownloadURL? = nil) {
        self.init(url ?? resumeData.url, to: destination)
        self.resumeData = resumeData
        key = resumeData.key ?? resumeData.url.redacted
        selection = resumeData.selection
    }
}

extension DownloadRequest: CustomStringConvertible {
    /// URL and destination; neither fields nor user info nor signature, which may be secrets.
    public var description: String { "\(url) to \(Printable.escaped(destination))" }
}

/// What a server refused for want of credentials, or of a URL that is still valid.
public struct Refusal: Sendable {
    /// What was asked for.
    public var url: DownloadURL
    /// 401, 403, 407 or 451.
    public var status: Int
    /// The fields of the answer, such as `WWW-Authenticate`.
    public var responseFields: HTTPFields
}

/// Where and how to ask from now on.
public struct Renewal: Sendable {
    /// The URL, such as one that was signed anew; nil to leave it.
    public var url: DownloadURL?
    /// The caller's fields, all of them; nil to leave them.
    ///
    /// Where they are left and the URL is at another origin, those that are secret are dropped.
    public var fields: HTTPFields?
    /// Names of fields, beside those that the request names, that must not go to another origin than the URL's.
    public var secretFields: Set<HTTPField.Name>

    /// Makes a renewal.
    public init(url: DownloadURL? = nil, fields: HTTPFields? = nil, secretFields: Set<HTTPField.Name> = []) {
        self.url = url
        self.fields = fields
        self.secretFields = secretFields
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
    /// Some of what was held was given up, since the disk did not keep it, a crash lost it, or the collector removed it
    /// while the download was paused; it is fetched again.
    case damaged(reason: Reason)
    /// The store does not hold what the resume data named, but nothing, or another version: it goes on with what is there.
    case resumeDataOutdated(reason: Reason)
    /// It began anew although bytes were held.
    case restarted(reason: Reason, totalBytes: Int64?)
    /// So many bytes are there. It grows, but for a restart, for a part that was found to be wrong, and, beside a gap or
    /// with several connections, for the end of a part that is fetched again to be compared.
    case progress(receivedBytes: Int64, totalBytes: Int64?)
    /// It will be tried again.
    case retrying(reason: Reason, afterSeconds: Double)
    /// It was delivered.
    case finished(DownloadResult)
}
