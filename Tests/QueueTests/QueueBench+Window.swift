import Dispatch
@testable import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Holds a download between its last byte and its delivery.
final class Window: Sendable {
    private let reached = Flag()
    private let gate = DispatchSemaphore(value: 0)

    /// Receives the events.
    func note(_ event: DownloadEvent) {
        guard case .progress(MediaOrigin.length, _) = event, !reached.isSet else { return }
        reached.set()
        gate.wait()
    }

    var isReached: Bool { reached.isSet }

    /// Allows the delivery.
    func open() { gate.signal() }
}

extension QueueBench {
    /// One column of the rows of `queued`, as another program reads it.
    func rows(_ column: String = "destination") throws -> [String] {
        let connection = try Connection.open(path: folder["store/store.sqlite"])
        return try connection.rows("SELECT \(column) FROM queued ORDER BY priority DESC, position DESC, id") { row in
            row.text(0) ?? "NULL"
        }
    }

    /// Changes the database as another program would.
    func execute(_ statements: String) throws {
        try Connection.open(path: folder["store/store.sqlite"]).execute(statements)
    }

    /// A request with a digest that the file does not have.
    func wrong(_ name: String, to file: String? = nil) throws -> DownloadRequest {
        var request = try request(name, to: file)
        request.digest = HTTPDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32))
        return request
    }

    /// Adds a given request, and returns when the queue has recorded it.
    func ask(_ request: DownloadRequest) async throws -> Task<DownloadResult, any Error> {
        let callers = { await queue.report().items.reduce(0) { $0 + $1.callers } }
        let before = await callers()
        let isDone = Flag()
        let task = Task { [queue] in
            defer { isDone.set() }
            return try await queue.download(request)
        }
        try await wait(for: "it is asked for") { await callers() > before || isDone.isSet }
        return task
    }

    /// Whether a body ends within a short time.
    func ends(_ body: @escaping @Sendable () async -> Void) async throws {
        let isDone = Flag()
        let task = Task {
            await body()
            isDone.set()
        }
        defer { task.cancel() }
        try await wait(for: "it ends") { isDone.isSet }
    }
}
