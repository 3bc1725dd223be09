#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import HTTPTypes
import ResumeHTTP
import ResumeStore

/// The options of a request besides its URL and destination, as recorded for the next process.
///
/// Secrets are not recorded. A queue records no request with header fields, closures or a signed URL, since only the
/// program can make it again. A job of the command line names what must be given again. All members are optional: the
/// usual values are not recorded, since a store may have millions of rows, and rows of an earlier release lack members.
package struct JobTerms: Codable {
    private var selection, condition, acceptEncoding, ifExists: String?
    private var digest: [String: String]?
    private var allowsUnvalidated, restarts, waits, usesServerFilename, numbersServerFilename: Bool?
    private var connections, retries, restartLimit, mostRedirects: Int?
    private var overlap, stallBytes, rateLimit, maximumLength: Int64?
    /// In seconds.
    private var retryTime, firstDelay, longestDelay, stallTimeout: Double?
    /// The header fields without secrets: names and values, one after the other.
    private var fields: [String]?
    /// What is not stored and must be given again, if there is any.
    private(set) var needs: [String]?
    /// For a URL that must be given again: a keyed hash of it, in hexadecimal digits, by which it is told from others.
    private var identity: String?

    /// An option that is recorded if it is not the usual one.
    private struct Option {
        let record: @Sendable (inout JobTerms, DownloadRequest, _ usual: DownloadRequest) -> Void
        let set: @Sendable (inout DownloadRequest, JobTerms) -> Void

        init<Value: Equatable & SendableMetatype>(
            _ term: any WritableKeyPath<JobTerms, Value?> & Sendable,
            _ option: any WritableKeyPath<DownloadRequest, Value> & Sendable
        ) {
            record = { if $1[keyPath: option] != $2[keyPath: option] { $0[keyPath: term] = $1[keyPath: option] } }
            set = { if let value = $1[keyPath: term] { $0[keyPath: option] = value } }
        }
    }

    private static let options = [
        Option(\.allowsUnvalidated, \.allowsUnvalidated), Option(\.acceptEncoding, \.acceptEncoding),
        Option(\.restarts, \.restarts), Option(\.waits, \.waits), Option(\.usesServerFilename, \.usesServerFilename),
        Option(\.numbersServerFilename, \.numbersServerFilename), Option(\.mostRedirects, \.mostRedirects),
        Option(\.connections, \.connections), Option(\.overlap, \.overlap), Option(\.stallBytes, \.stallBytes),
        Option(\.retries, \.retryPolicy.retries), Option(\.restartLimit, \.retryPolicy.restarts),
        Option(\.retryTime, \.retryPolicy.time.recorded), Option(\.firstDelay, \.retryPolicy.firstDelay.recorded),
        Option(\.longestDelay, \.retryPolicy.longestDelay.recorded),
        Option(\.stallTimeout, \.stallTimeout.recorded),
    ]

    /// What ``needs(of:)`` says of a URL with user info or a signature.
    package static let url = "URL"

    /// Takes the options of a request; fails if they do not describe it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - key: The key of the store's hashes, so that secrets are named; nil if there are no terms for a request with
    ///     header fields or secrets, which only the program itself can make again.
    private init?(_ request: DownloadRequest, _ key: HashKey?) {
        let isPlain =
            request.refresh == nil && request.headerFields.isEmpty && request.secretHeaderFields.isEmpty
            && !request.url.hasSecrets
        guard request.permits == nil, request.headURL == nil, key != nil || isPlain else { return nil }
        if let key { takeFields(of: request, key) }
        let usual = DownloadRequest(request.url, to: "")
        for option in Self.options { option.record(&self, request, usual) }
        selection = request.selection?.description
        if request.condition != usual.condition { condition = request.condition.rawValue }
        if request.ifExists != usual.ifExists { ifExists = request.ifExists.rawValue }
        digest = request.digest.map { [$0.algorithm.rawValue: $0.hexadecimal] }
        rateLimit = request.rateLimit
        maximumLength = request.maximumLength
    }

    private mutating func takeFields(of request: DownloadRequest, _ key: HashKey) {
        var needs = (request.url.hasSecrets ? [Self.url] : []) + request.needs
        var known: [String] = []
        for field in request.headerFields {
            let name = field.name.rawName
            if !Redirection.isSecret(field, among: request.secretHeaderFields) {
                known += [name, field.value]
            } else if !needs.contains(name) {
                needs.append(name)
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
    package static func text(for request: DownloadRequest, _ key: HashKey? = nil) -> String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return JobTerms(request, key).flatMap { try? encoder.encode($0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    static func decoded(_ text: String?) -> JobTerms? {
        text.flatMap { try? JSONDecoder().decode(JobTerms.self, from: Data($0.utf8)) }
    }

    /// Whether the file of a job is also one for other terms: the digest and the coding are the same.
    package static func isAnswered(_ terms: String?, by other: String?) -> Bool {
        // Without terms, nothing is known of the digest.
        if terms != nil, terms == other { return true }
        guard let terms = decoded(terms), let other = decoded(other) else { return false }
        return (terms.digest == nil || terms.digest == other.digest) && terms.acceptEncoding == other.acceptEncoding
            && terms.usesServerFilename == other.usesServerFilename
    }

    /// Returns the request, unless the terms or the URL cannot be read.
    func request(for job: Job, at url: DownloadURL? = nil) -> DownloadRequest? {
        guard let url = url ?? (try? DownloadURL(job.url)) else { return nil }
        var request = DownloadRequest(url, to: job.destination)
        if let selection {
            guard let parsed = RangeSelection(selection) else { return nil }
            request.selection = parsed
        }
        request.key = DownloadName.callersKey(job.key, request.selection)
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
        for option in Self.options { option.set(&request, self) }
        request.rateLimit = rateLimit
        request.maximumLength = maximumLength
        request.ifExists = ifExists.flatMap(DownloadRequest.IfExists.init) ?? request.ifExists
        let fields = fields ?? []
        for index in stride(from: 0, to: fields.count - 1, by: 2) {
            guard let name = HTTPField.Name(fields[index]) else { continue }
            request.headerFields.append(HTTPField(name: name, value: fields[index + 1]))
        }
        return request
    }
}

extension Duration {
    /// The seconds in a row, which may have been manipulated; at most a day.
    fileprivate var recorded: Double {
        get { self / .seconds(1) }
        set { self = .seconds(newValue.isNaN ? 0 : min(max(newValue, 0), 86_400)) }
    }
}
