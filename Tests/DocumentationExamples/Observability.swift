import Logging
import Resume

func logged(_ store: DownloadStore, by transport: some Transport) -> Downloader {
    // SNIPPET
    var logger = Logger(label: "org.example.downloads")
    logger.logLevel = .debug
    let downloader = Downloader(store: store, transport: transport, logger: logger)
    // END
    return downloader
}

func observed(by logger: Logger) async throws -> DownloadStore {
    // SNIPPET
    let configuration = DownloadStore.Configuration(maximumSize: 10 << 30).observed(by: logger)
    let store = try await DownloadStore.open(at: "/var/cache/example", configuration: configuration)
    // END
    return store
}
