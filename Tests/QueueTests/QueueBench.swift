import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// A queue over a real origin, for one test.
struct QueueBench {
    let origin: MediaOrigin
    let server: OriginServer
    let store: DownloadStore
    let transport: AsyncHTTPTransport
    let folder: TemporaryFolder
    var queue: DownloadQueue

    static func with(
        _ configuration: DownloadQueue.Configuration = .init(maximumRunning: 1),
        _ body: (QueueBench) async throws -> Void
    ) async throws {
        let origin = MediaOrigin()
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { origin.answer($0) }) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                let transport = AsyncHTTPTransport(.init(connectTimeout: 5, threads: 1))
                let queue = try await DownloadQueue.open(
                    Downloader(store: store, transport: transport), configuration: configuration)
                let bench = QueueBench(
                    origin: origin, server: server, store: store, transport: transport, folder: folder, queue: queue)
                do {
                    try await body(bench)
                } catch {
                    Issue.record(error)
                }
                await queue.close()
                await store.close()
                try await transport.shutdown()
            }
        }
    }

    var downloader: Downloader { Downloader(store: store, transport: transport) }

    func request(_ name: String, to file: String? = nil) throws -> DownloadRequest {
        var request = DownloadRequest(try DownloadURL("\(server.baseURL)/\(name)"), to: folder[file ?? name])
        request.limits = .init(retries: 1, firstDelay: 0.01, longestDelay: 0.02)
        return request
    }

    func key(_ name: String) -> String { "\(server.baseURL)/\(name)" }

    /// Asks for a file as a task of its own, and returns when the queue knows.
    func ask(
        _ name: String, to file: String? = nil, priority: QueuePriority = .normal, isForced: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> Task<DownloadResult, any Error> {
        let before = await item(name)?.callers ?? 0
        let request = try request(name, to: file)
        let isDone = Flag()
        let task = Task { [queue] in
            defer { isDone.set() }
            return try await queue.download(request, priority: priority, isForced: isForced, onEvent: onEvent)
        }
        try await eventually("\(name) is asked for") {
            await (item(name)?.callers ?? 0) > before || isDone.isSet
        }
        return task
    }

    func item(_ name: String) async -> QueueReport.Item? {
        await queue.report().items.first { $0.url == key(name) }
    }

    /// The names in a state, in the order of the report.
    func names(_ state: QueueReport.State) async -> [String] {
        await queue.report().items(in: state).map { String($0.url.dropFirst(server.baseURL.count + 1)) }
    }

    /// The names in the order in which the origin was asked for them first.
    var asked: [String] {
        var seen: Set<String> = []
        return server.requests.map { String($0.path.dropFirst()) }.filter { seen.insert($0).inserted }
    }

    func requests(for name: String) -> [OriginRequest] { server.requests.filter { $0.path == "/\(name)" } }

    /// Waits until so many bytes of a file are there.
    func received(_ name: String, _ count: Int64) async throws {
        try await eventually("\(count) bytes of \(name)") { await (item(name)?.receivedBytes ?? 0) >= count }
    }

    /// Waits until the state is as it should be.
    func eventually(_ what: String, _ condition: () async -> Bool) async throws {
        for _ in 0..<3000 {
            if await condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        let report = await queue.report()
        Issue.record("never: \(what)\n\(report)")
        throw CancellationError()
    }

    /// Whether a file has all its bytes.
    func isWhole(_ name: String, as file: String? = nil) throws -> Bool {
        let bytes = try Files.bytes(folder[file ?? name])
        return bytes.count == MediaOrigin.length && MediaOrigin.content("/\(name)").matches(bytes)
    }
}

/// What is set once.
final class Flag: Sendable {
    private let value = Atomic(false)
    func set() { value.store(true, ordering: .releasing) }
    var isSet: Bool { value.load(ordering: .acquiring) }
}

/// What was told.
final class Told: Sendable {
    private let events = Mutex<[DownloadEvent]>([])
    func note(_ event: DownloadEvent) { events.withLock { $0.append(event) } }
    var all: [DownloadEvent] { events.withLock { $0 } }
}

/// The error that a download ended with.
func failure(of task: Task<DownloadResult, any Error>) async -> (any Error)? {
    do {
        _ = try await task.value
        return nil
    } catch {
        return error
    }
}
