#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import ResumeHTTP
internal import ResumeStore

/// What a request asks for beside its URL and destination, as it is kept for the next process.
///
/// Only what is no secret, and can be written down: a request with fields, hooks or a signed URL is not, since it would
/// be another one without them. A member that is added after a release must be optional: the rows of the release before
/// lack it, and a row that cannot be read is a request that is lost.
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
    private var firstDelay: Double
    private var longestDelay: Double
    private var restartLimit: Int
    private var stallTimeout: Double
    private var stallBytes: Int64
    private var rateLimit: Int64?
    private var maximumLength: Int64?
    private var usesServerFilename: Bool?

    /// The terms of a request.
    ///
    /// - Returns: nil where they are not all of it.
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
        firstDelay = request.limits.firstDelay
        longestDelay = request.limits.longestDelay
        restartLimit = request.limits.restarts
        stallTimeout = request.stallTimeout
        stallBytes = request.stallBytes
        rateLimit = request.rateLimit
        maximumLength = request.maximumLength
        usesServerFilename = request.usesServerFilename ? true : nil
    }

    /// The text that is kept for a request; nil where it cannot be.
    static func text(for request: DownloadRequest) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return QueuedTerms(request).flatMap { try? encoder.encode($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The request that a text was kept for.
    ///
    /// - Returns: nil where there is none, or one that nobody can read.
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
            retries: retries, firstDelay: firstDelay, longestDelay: longestDelay, restarts: restartLimit)
        request.stallTimeout = stallTimeout
        request.stallBytes = stallBytes
        request.rateLimit = rateLimit
        request.maximumLength = maximumLength
        request.usesServerFilename = usesServerFilename ?? false
        return request
    }
}
