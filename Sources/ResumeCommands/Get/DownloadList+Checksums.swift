import HTTPTypes
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

extension GetCommand {
    /// The URL of --checksums; nil if that is a file, or if there is none.
    var checksumsURL: DownloadURL? {
        checks.checksums.flatMap { $0.contains("://") ? try? TypedURL.parse($0) : nil }
    }
}

/// A list of checksums on a server.
extension DownloadList {
    /// The maximum length of the list, which is kept in memory: more than a hundred thousand lines.
    private static let longestChecksums: Int64 = 16 << 20
    /// The number of its request; those of jobs are positive.
    private static let checksumsNumber: Int64 = -1

    /// Fetches the list of --checksums if it is on a server, before the first download starts.
    ///
    /// - Parameters:
    ///   - part: The first downloads.
    ///   - programs: The programs that know credentials.
    ///   - rates: The rate limits.
    ///   - transport: Sends the requests.
    /// - Returns: The first downloads with their digests.
    /// - Throws: ``CommandFailure`` with the URL.
    func fetchChecksums(
        for part: Part, with programs: Programs, limiting rates: RateControl, over transport: any Transport
    ) async throws -> Part {
        guard let url = command.checksumsURL else { return part }
        let source = Redaction.url(url)
        var request = checksumsRequest(for: url, beside: part.items)
        rates.limit(&request, Self.checksumsNumber)
        defer { rates.ended(Self.checksumsNumber) }
        do {
            let list = try await command.limitingTime(to: command.pace.maxTime?.duration, of: nil) { [request] in
                var request = request
                try await programs.authorize(&request)
                let bytes = try await request.bytes(over: transport)
                return try await Blocking.run { try Checksums(in: bytes, of: source) }
            }
            checksums.withLock { $0 = list }
        } catch {
            var failure = CommandFailure(error)
            if failure.reason != Checksums.missing {
                failure.message = "cannot fetch the checksums from \(source): \(failure.message)"
                if failure.status == .refused {
                    failure.message += sentence("advice-list")
                }
            }
            failure.isResumable = false
            request.destination = ""
            if command.messages.json { context.print(GetReporter.json(failure, error, of: request)) }
            throw failure
        }
        return withDigests(part)
    }

    /// Returns the request of a list.
    ///
    /// What the user has set for the downloads, such as -u and -H, is sent only if one of them has the same origin.
    private func checksumsRequest(for url: DownloadURL, beside items: [Item]) -> DownloadRequest {
        let terms = command.terms(url)
        let isTheirs = items.contains { $0.url.origin == url.origin }
        var request = DownloadRequest(url, to: "")
        request.headerFields =
            isTheirs
            ? terms.headerFields : Redirection.withoutSecrets(terms.headerFields, secret: terms.secretHeaderFields)
        request.secretHeaderFields = terms.secretHeaderFields
        netrc?.authorize(&request)
        request.retryPolicy = terms.retryPolicy
        request.stallTimeout = terms.stallTimeout
        request.rateLimit = terms.rateLimit
        request.maximumLength = Self.longestChecksums
        return request
    }
}
