#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import HTTPTypes
internal import ResumeHTTP
internal import ResumeStore

/// The options of a request besides its URL and destination, as recorded for the next process.
///
/// Secrets are not recorded. A queue records no request with header fields, closures or a signed URL, since only the
/// program can make it again. A job of the command line names what must be given again. All members are optional: the
/// usual values are not recorded, since a store may have millions of rows, and rows of an earlier release lack members.
struct QueuedTerms: Codable {
    private var selection: String?
    private var condition: String?
    private var digest: [String: String]?
    private var allowsUnvalidated: Bool?
    private var acceptEncoding: String?
    private var restarts: Bool?
    private var waits: Bool?
    private var connections: Int?
    private var overlap: Int64?
    private var retries: Int?
    /// In seconds, as are all times here.
    private var retryTime: Double?
    private var firstDelay: Double?
    private var longestDelay: Double?
    private var restartLimit: Int?
    private var stallTimeout: Double?
    private var stallBytes: Int64?
    private var rateLimit: Int64?
    private var maximumLength: Int64?
    private var usesServerFilename: Bool?
    private var ifExists: String?
    /// The header fields without secrets: names and values, one after the other.
    private var fields: [String]?
    /// What is not stored and must be given again, if there is any.
    private(set) var needs: [String]?

    /// For a URL that must be given again: a keyed hash of it, in hexadecimal digits, by which it is told from others.
    var identity: String?

    /// What ``needs`` says of a URL with user info or a signature.
    static let neededURL = "URL"

    /// Takes the options of a request; fails if they do not describe it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The key of the store's hashes, so that secrets are named; nil if there are no terms for a request with
    ///     header fields or secrets, which only the program itself can make again.
    private init?(_ request: DownloadRequest, _ key: [UInt8]?) {
        guard request.permits == nil, request.headURL == nil else { return nil }
        if let key {
            takeFields(of: request, key)
        } else if request.refresh != nil || !request.headerFields.isEmpty || !request.secretHeaderFields.isEmpty
            || request.url.hasSecrets
        {
            return nil
        }
        let usual = DownloadRequest(request.url, to: "")
        func unusual<Value: Equatable>(_ path: KeyPath<DownloadRequest, Value>) -> Value? {
            request[keyPath: path] == usual[keyPath: path] ? nil : request[keyPath: path]
        }
        selection = request.selection?.description
        condition = unusual(\.condition)?.rawValue
        digest = request.digest.map { [$0.algorithm.rawValue: $0.hexadecimal] }
        allowsUnvalidated = unusual(\.allowsUnvalidated)
        acceptEncoding = unusual(\.acceptEncoding)
        restarts = unusual(\.restarts)
        waits = unusual(\.waits)
        connections = unusual(\.connections)
        overlap = unusual(\.overlap)
        retries = unusual(\.retryPolicy.retries)
        retryTime = unusual(\.retryPolicy.time).map { $0 / .seconds(1) }
        firstDelay = unusual(\.retryPolicy.firstDelay).map { $0 / .seconds(1) }
        longestDelay = unusual(\.retryPolicy.longestDelay).map { $0 / .seconds(1) }
        restartLimit = unusual(\.retryPolicy.restarts)
        stallTimeout = unusual(\.stallTimeout).map { $0 / .seconds(1) }
        stallBytes = unusual(\.stallBytes)
        rateLimit = request.rateLimit
        maximumLength = request.maximumLength
        usesServerFilename = unusual(\.usesServerFilename)
        ifExists = unusual(\.ifExists.rawValue)
    }

    private mutating func takeFields(of request: DownloadRequest, _ key: [UInt8]) {
        var needs = (request.url.hasSecrets ? [Self.neededURL] : []) + request.needs
        var known: [String] = []
        for field in request.headerFields {
            if Redirection.isSecret(field, among: request.secretHeaderFields) {
                if !needs.contains(field.name.rawName) { needs.append(field.name.rawName) }
            } else {
                known += [field.name.rawName, field.value]
            }
        }
        self.needs = needs.isEmpty ? nil : needs
        fields = known.isEmpty ? nil : known
        if request.url.hasSecrets { identity = Hexadecimal.text(RequestIdentity(request.url, [:]).code(key)) }
    }

    /// Returns the text to record for a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The key of the store's hashes for a job, which names what must be given again; nil for other requests.
    /// - Returns: The text; nil if the request cannot be recorded.
    static func text(for request: DownloadRequest, namingNeedsWith key: [UInt8]? = nil) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return QueuedTerms(request, key).flatMap { try? encoder.encode($0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Returns the request that a text was recorded for.
    ///
    /// - Returns: nil if there is no text or it cannot be decoded.
    static func request(_ text: String?, url: String, key: String, destination: String) -> DownloadRequest? {
        guard let terms = decoded(text), terms.needs == nil, let url = try? DownloadURL(url) else { return nil }
        return terms.request(url: url, key: key, destination: destination)
    }

    static func decoded(_ text: String?) -> QueuedTerms? {
        text.flatMap { try? JSONDecoder().decode(QueuedTerms.self, from: Data($0.utf8)) }
    }

    /// Whether a file for these terms is also one for others: the digest and the coding are the same.
    func asksForSame(as other: QueuedTerms) -> Bool {
        (other.digest == nil || digest == other.digest) && acceptEncoding == other.acceptEncoding
            && usesServerFilename == other.usesServerFilename
    }

    func request(url: DownloadURL, key: String, destination: String) -> DownloadRequest? {
        var request = DownloadRequest(url, to: destination)
        if let selection {
            guard let parsed = RangeSelection(selection) else { return nil }
            request.selection = parsed
        }
        request.key = DownloadStore.callersKey(key, request.selection)
        guard request.key != nil else { return nil }
        if let condition {
            guard let known = ResumePolicy.Condition(rawValue: condition) else { return nil }
            request.condition = known
        }
        if let digest {
            guard let (name, digits) = digest.first, let algorithm = HTTPDigest.Algorithm(rawValue: name),
                let parsed = HTTPDigest(algorithm, hexadecimal: digits)
            else { return nil }
            request.digest = parsed
        }
        request.allowsUnvalidated = allowsUnvalidated ?? request.allowsUnvalidated
        request.acceptEncoding = acceptEncoding ?? request.acceptEncoding
        request.restarts = restarts ?? request.restarts
        request.waits = waits ?? request.waits
        request.connections = connections ?? request.connections
        request.overlap = overlap ?? request.overlap
        request.retryPolicy.retries = retries ?? request.retryPolicy.retries
        request.retryPolicy.time = retryTime.map { .bounded(seconds: $0) } ?? request.retryPolicy.time
        request.retryPolicy.firstDelay = firstDelay.map { .bounded(seconds: $0) } ?? request.retryPolicy.firstDelay
        request.retryPolicy.longestDelay =
            longestDelay.map { .bounded(seconds: $0) } ?? request.retryPolicy.longestDelay
        request.retryPolicy.restarts = restartLimit ?? request.retryPolicy.restarts
        request.stallTimeout = stallTimeout.map { .bounded(seconds: $0) } ?? request.stallTimeout
        request.stallBytes = stallBytes ?? request.stallBytes
        request.rateLimit = rateLimit
        request.maximumLength = maximumLength
        request.usesServerFilename = usesServerFilename ?? request.usesServerFilename
        request.ifExists = ifExists.flatMap(DownloadRequest.IfExists.init) ?? request.ifExists
        for index in stride(from: 0, to: (fields?.count ?? 0) - 1, by: 2) {
            guard let name = fields.flatMap({ HTTPField.Name($0[index]) }), let value = fields?[index + 1] else {
                continue
            }
            request.headerFields.append(HTTPField(name: name, value: value))
        }
        return request
    }
}

extension Duration {
    /// A number of seconds from a row, which may have been manipulated; at most a day.
    fileprivate static func bounded(seconds: Double) -> Duration {
        .seconds(seconds.isNaN ? 0 : min(max(seconds, 0), 86_400))
    }
}
