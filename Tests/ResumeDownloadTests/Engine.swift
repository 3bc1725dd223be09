import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore

/// One download as an embedding program runs it, with few and short retries.
enum Engine {
    /// A timeout in seconds that no test reaches, however slow the machine is.
    static let patience: Duration = .seconds(3600)

    static func get(
        _ url: String, to path: String, store: DownloadStore,
        transport: CurlTransport.Configuration = .init(connectTimeout: patience, threads: 1),
        configure: (inout DownloadRequest) -> Void = { _ in },
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> DownloadResult {
        var request = DownloadRequest(try DownloadURL(url), to: path)
        request.retryPolicy = .init(
            retries: 2, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        request.stallTimeout = patience
        configure(&request)
        let wanted = request
        return try await TransportKind.withTransport(transport) { transport in
            try await Downloader(store: store, transport: transport).download(wanted, onEvent: onEvent)
        }
    }
}
