import Logging
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeURLSession

// The settings in the table of the article GettingStarted, compiled the way an embedding program compiles them.

/// Makes a request with the settings in the table.
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
    request.refresh = { refusal in refusal.status == 403 ? RefreshedRequest(url: headURL, headerFields: [:]) : nil }
    request.permits = { $0.scheme == "https" }
    request.usesServerFilename = true
    return request
}

/// Makes a transport for untrusted URLs that uses the environment's proxies.
public func transportWithTerms(environment: [String: String]) throws -> CurlTransport {
    CurlTransport(
        .init(
            proxies: ProxySettings(environment: environment), usesHTTP2: true,
            permitsAddress: CurlTransport.isPublicAddress))
}

/// Makes an engine that uses URLSession and logs downloads, with a store that logs evictions.
public func watchedDownloader(at path: String, logger: Logger) async throws -> Downloader {
    let store = try await DownloadStore.open(at: path, configuration: .init().observed(by: logger))
    return Downloader(store: store, transport: URLSessionTransport(), logger: logger)
}
