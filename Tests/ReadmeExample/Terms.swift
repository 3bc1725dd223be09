import Logging
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeURLSession

// What the README's table of terms names, compiled as an embedder compiles it.

/// A request with every term that the README names.
public func requestWithTerms(
    _ url: DownloadURL, signedForHead headURL: DownloadURL, to path: String
) throws -> DownloadRequest {
    var request = DownloadRequest(url, to: path)
    request.key = "model"
    request.digest = try HTTPDigest(.sha256, parsing: String(repeating: "0", count: 64))
    request.selection = try RangeSelection(parsing: "bytes=0-99,-500")
    request.condition = .ifMatch
    request.condition = .head
    request.headURL = headURL
    request.allowsUnvalidated = true
    request.acceptEncoding = "gzip"
    request.renewal = { refusal in refusal.status == 403 ? Renewal(url: headURL, fields: [:]) : nil }
    request.permits = { $0.scheme == "https" }
    return request
}

/// A transport for URLs of strangers, through the environment's proxies.
public func transportWithTerms(environment: [String: String]) throws -> AsyncHTTPTransport {
    AsyncHTTPTransport(
        .init(
            proxies: try ProxySettings(environment: environment), usesHTTP2: true,
            permitsAddress: { PublicAddress.isPublic($0) }))
}

/// An engine over URLSession that logs what it does, with a store that logs what it evicts.
public func watchedDownloader(at path: String, logger: Logger) async throws -> Downloader {
    let store = try await DownloadStore.open(at: path, configuration: .init().observed(by: logger))
    return Downloader(store: store, transport: URLSessionTransport(), logger: logger)
}
