#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeHTTP
internal import ResumeStore

/// The options of a request besides its URL and destination, as recorded for the next process.
///
/// A request with header fields, closures or a signed URL is not recorded: it contains secrets or code, and would be a
/// different request without them. Members that are added after a release must be optional: rows of the previous
/// release lack them, and a row that cannot be decoded is a lost request.
struct QueuedTerms: Codable {
    private var selection: String?
    private var condition: String
    private var digest: [String: String]?
    private var allowsUnvalidated: Bool
    private var acceptEncoding: String
    private var restarts: Bool
    private var waits: Bool
    private var connections: Int
    private var overlap: Int64
    private var retries: Int
    /// In seconds, as are all times here.
    private var firstDelay: Double
    private var longestDelay: Double
    private var restartLimit: Int
    private var stallTimeout: Double
    private var stallBytes: Int64
    private var rateLimit: Int64?
    private var maximumLength: Int64?
    private var usesServerFilename: Bool?

    /// Takes the options of a request.
    ///
    /// - Returns: nil if they do not fully describe it.
    private init?(_ request: DownloadRequest) {
        guard request.fields.isEmpty, request.secretFields.isEmpty, request.renewal == nil, request.permits == nil,
            request.headURL == nil, request.url.credentials == nil, request.url.redacted == request.url.absoluteString
        else { return nil }
        selection = request.selection?.description
        condition = request.condition.rawValue
        digest = request.digest.map { [$0.algorithm.rawValue: $0.hexadecimal] }
        allowsUnvalidated = request.allowsUnvalidated
        acceptEncoding = request.acceptEncoding
        restarts = request.restarts
        waits = request.waits
        connections = request.connections
        overlap = request.overlap
        retries = request.limits.retries
        firstDelay = request.limits.firstDelay / .seconds(1)
        longestDelay = request.limits.longestDelay / .seconds(1)
        restartLimit = request.limits.restarts
        stallTimeout = request.stallTimeout / .seconds(1)
        stallBytes = request.stallBytes
        rateLimit = request.rateLimit
        maximumLength = request.maximumLength
        usesServerFilename = request.usesServerFilename ? true : nil
    }

    /// Returns the text to record for a request; nil if it cannot be recorded.
    static func text(for request: DownloadRequest) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return QueuedTerms(request).flatMap { try? encoder.encode($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the request that a text was recorded for.
    ///
    /// - Returns: nil if there is no text or it cannot be decoded.
    static func request(_ text: String?, url: String, key: String, destination: String) -> DownloadRequest? {
        guard let text, let terms = try? JSONDecoder().decode(QueuedTerms.self, from: Data(text.utf8)),
            let url = try? DownloadURL(url)
        else { return nil }
        return terms.request(url: url, key: key, destination: destination)
    }

    private func request(url: DownloadURL, key: String, destination: String) -> DownloadRequest? {
        var request = DownloadRequest(url, to: destination)
        if let selection {
            guard let parsed = RangeSelection(selection) else { return nil }
            request.selection = parsed
        }
        request.key = DownloadStore.callersKey(key, request.selection)
        guard request.key != nil else { return nil }
        guard let condition = ResumePolicy.Condition(rawValue: condition) else { return nil }
        request.condition = condition
        if let digest {
            guard let (name, digits) = digest.first, let algorithm = HTTPDigest.Algorithm(rawValue: name),
                let parsed = HTTPDigest(algorithm, hexadecimal: digits)
            else { return nil }
            request.digest = parsed
        }
        request.allowsUnvalidated = allowsUnvalidated
        request.acceptEncoding = acceptEncoding
        request.restarts = restarts
        request.waits = waits
        request.connections = connections
        request.overlap = overlap
        request.limits = .init(
            retries: retries, firstDelay: .bounded(seconds: firstDelay),
            longestDelay: .bounded(seconds: longestDelay), restarts: restartLimit)
        request.stallTimeout = .bounded(seconds: stallTimeout)
        request.stallBytes = stallBytes
        request.rateLimit = rateLimit
        request.maximumLength = maximumLength
        request.usesServerFilename = usesServerFilename ?? false
        return request
    }
}

extension Duration {
    /// A number of seconds from a row, which may have been manipulated; at most a day.
    fileprivate static func bounded(seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), 86_400))
    }
}
