import OriginServer
import ResumeCurl
@testable import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// A queue over a real origin, for one test.
struct QueueBench {
    let origin: MediaOrigin
    let server: OriginServer
    let store: DownloadStore
    let transport: CurlTransport
    let folder: TemporaryFolder
    var queue: DownloadQueue

    /// A timeout in seconds that no test reaches, however slow the machine is.
    static let patience: Duration = .seconds(3600)

    static func with(
        _ configuration: DownloadQueue.Configuration = .init(maximumRunning: 1),
        _ body: (QueueBench) async throws -> Void
    ) async throws {
        let origin = MediaOrigin()
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { origin.answer($0) }) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                let transport = CurlTransport(.init(connectTimeout: QueueBench.patience, threads: 1))
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
                await transport.shutdown()
            }
        }
    }

    /// Closes the queue, and opens another one in its place, as a later process does.
    func reopened(
        _ configuration: DownloadQueue.Configuration = .init(), _ body: (QueueBench) async throws -> Void
    ) async throws {
        await queue.close()
        var bench = self
        bench.queue = try await DownloadQueue.open(downloader, configuration: configuration)
        try await body(bench)
        await bench.queue.close()
    }

    var downloader: Downloader { Downloader(store: store, transport: transport) }

    func request(_ name: String, to file: String? = nil) throws -> DownloadRequest {
        var request = DownloadRequest(try DownloadURL("\(server.baseURL)/\(name)"), to: folder[file ?? name])
        request.retryPolicy = .init(
            retries: 1, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        request.stallTimeout = Self.patience
        return request
    }

    /// The rows of `queued`, as another program reads them.
    func rows() throws -> [String] {
        let connection = try Connection.open(path: folder["store/store.sqlite"])
        return try connection.rows(
            "SELECT key, url, destination, state, terms FROM queued ORDER BY priority DESC, position DESC"
        ) { row in (0..<5).map { row.text($0) ?? "NULL" }.joined(separator: " ") }
    }

    /// The names and states of the rows.
    func states() throws -> [String] {
        try rows().map { row in
            let words = row.split(separator: " ")
            return "\(words[0].split(separator: "/").last ?? "") \(words[3])"
        }
    }

    func key(_ name: String) -> String { "\(server.baseURL)/\(name)" }

    /// Requests a file in a separate task, and returns when the queue has recorded it.
    func ask(
        _ name: String, to file: String? = nil, priority: DownloadQueue.Priority = .normal, isExclusive: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in },
        changing change: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> Task<DownloadResult, any Error> {
        let before = await item(name)?.callers ?? 0
        var changed = try request(name, to: file)
        change(&changed)
        let request = changed
        let isDone = Flag()
        let task = Task { [queue] in
            defer { isDone.set() }
            return try await queue.download(request, priority: priority, isExclusive: isExclusive, onEvent: onEvent)
        }
        try await wait(for: "\(name) is asked for") {
            await (item(name)?.callers ?? 0) > before || isDone.isSet
        }
        return task
    }

    /// Requests a file whose answer stalls halfway, and returns when the first half is stored.
    func stall(
        _ name: String, to file: String? = nil, isExclusive: Bool = false,
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws -> Task<DownloadResult, any Error> {
        origin[name] = .stalled(after: MediaOrigin.half)
        let task = try await ask(name, to: file, isExclusive: isExclusive, onEvent: onEvent)
        try await received(name, MediaOrigin.half)
        return task
    }

    /// Ends the stalls and lets the stalled downloads request the rest: one file, or all of them.
    func goOn(_ name: String? = nil) async {
        origin.release()
        if let name {
            await queue.pause(key(name))
            await queue.resume(key(name))
        } else {
            await queue.pauseAll()
            await queue.resumeAll()
        }
    }

    func item(_ name: String) async -> DownloadQueue.Report.Item? {
        await queue.report().items.first { $0.url == key(name) }
    }

    /// The names in a state, in the order of the report.
    func names(_ state: DownloadQueue.Report.State) async -> [String] {
        await queue.report().items.filter { $0.state == state }
            .map { String($0.url.dropFirst(server.baseURL.count + 1)) }
    }

    /// The names in the order in which they were first requested from the origin.
    var asked: [String] {
        var seen: Set<String> = []
        return server.requests.map { String($0.path.dropFirst()) }.filter { seen.insert($0).inserted }
    }

    func requests(for name: String) -> [OriginRequest] { server.requests.filter { $0.path == "/\(name)" } }

    /// Waits until the given number of bytes of a file is stored.
    func received(_ name: String, _ count: Int64) async throws {
        try await wait(for: "\(count) bytes of \(name)") { await (item(name)?.receivedBytes ?? 0) >= count }
    }

    /// Waits until a condition holds; otherwise the error has a report of the queue.
    func wait(for what: String, _ condition: () async -> Bool) async throws {
        do {
            try await TestSupport.wait(for: what, within: .seconds(240), until: condition)
        } catch {
            Issue.record("\(error)\n\(await queue.report())")
            throw error
        }
    }

    /// Whether a file has all its bytes.
    func isWhole(_ name: String, as file: String? = nil) throws -> Bool {
        let bytes = try Files.bytes(folder[file ?? name])
        return bytes.count == MediaOrigin.length && MediaOrigin.content("/\(name)").matches(bytes)
    }
}

/// A flag that is set once.
final class Flag: Sendable {
    private let value = Atomic(false)
    func set() { value.store(true, ordering: .releasing) }
    var isSet: Bool { value.load(ordering: .acquiring) }
}

/// Values that were reported.
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
