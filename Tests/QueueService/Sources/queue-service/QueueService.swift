import Logging
import ResumeServiceLifecycle
import ResumeURLSession
import ServiceLifecycle

/// Downloads files until SIGTERM, and continues what an earlier process has left.
///
/// Usage: `queue-service STORE [URL FILE]`
@main
struct QueueService {
    static func main() async throws {
        let arguments = CommandLine.arguments
        var requests: [DownloadRequest] = []
        if arguments.count == 4 { requests.append(DownloadRequest(try DownloadURL(arguments[2]), to: arguments[3])) }
        let logger = Logger(label: "queue-service")
        let store = try await DownloadStore.open(at: arguments[1])
        let transport = URLSessionTransport()
        let downloader = Downloader(store: store, transport: transport, logger: logger)
        try await serve(requests, downloader, logger: logger)
        transport.shutdown()
        await store.close()
        print("closed")
    }

    private static func serve(_ requests: [DownloadRequest], _ downloader: Downloader, logger: Logger) async throws {
        // SNIPPET
        let queue = try await DownloadQueue.open(
            downloader, configuration: .init(onFinish: { key, result in print("\(key): \(result)") }))
        try await queue.resumeRestored()
        try await queue.add(requests)
        let group = ServiceGroup(services: [queue], gracefulShutdownSignals: [.sigterm], logger: logger)
        try await group.run()
        // The queue is closed. Close its store and shut down its transport now.
        // END
    }
}
