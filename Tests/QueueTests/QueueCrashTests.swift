import Foundation
import OriginServer
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The process dies by SIGKILL between the steps of a delivery.
///
/// The next queue requests nothing that is already stored.
@Suite(.timeLimit(.minutes(10)))
struct QueueCrashTests {
    /// Runs a body with a queue on a separate store and an origin.
    private static func withQueue(
        in path: String, _ body: (DownloadQueue, OriginServer) async throws -> Void
    ) async throws {
        let origin = MediaOrigin()
        try await OriginServer.withServer(handler: { origin.answer($0) }) { server in
            let store = try await DownloadStore.open(at: "\(path)/store")
            let transport = CurlTransport(.init(connectTimeout: QueueBench.patience, threads: 1))
            let queue = try await DownloadQueue.open(Downloader(store: store, transport: transport))
            try await body(queue, server)
            await queue.close()
            await store.close()
            await transport.shutdown()
        }
    }

    static func die(in path: String, at point: KillPoint, destinations: [String]) async throws {
        try await withQueue(in: path) { queue, server in
            KillPoint.arm(point)
            try await queue.add(
                try destinations.map { file in
                    var request = DownloadRequest(try DownloadURL("\(server.baseURL)/a"), to: "\(path)/\(file)")
                    // The next origin has another port.
                    request.key = "a"
                    request.stallTimeout = QueueBench.patience
                    return request
                })
            await queue.waitUntilIdle()
        }
    }

    @Test(
        "SIGKILL during a delivery: the row stays until the delivery is recorded, and is removed with it",
        arguments: [KillPoint.sealed, .deliveryStaged, .deliveryRenamed, .deliverySynced, .rowRemoved], [1, 2])
    func killed(at point: KillPoint, count: Int) async throws {
        try await TemporaryFolder.with { folder in
            let files = (1...count).map { "file\($0)" }
            let path = folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, point = point as KillPoint, files = files as [String]] in
                try await QueueCrashTests.die(in: path, at: point, destinations: files)
            }
            try await Self.withQueue(in: folder.path) { queue, server in
                let restored = await queue.restored
                #expect(
                    restored.map(\.destination.last)
                        == (point == .rowRemoved ? files.dropFirst() : files[...]).map(\.last))
                try await queue.resumeRestored()
                await queue.waitUntilIdle()
                #expect(server.requests.isEmpty, "everything was there")
                for file in files {
                    let bytes = try Files.bytes(folder[file])
                    #expect(bytes.count == MediaOrigin.length && MediaOrigin.content("/a").matches(bytes))
                }
                let left = await queue.report()
                #expect(left.items.isEmpty, "\(left)")
            }
            #expect(try Files.names(in: folder.path) == files + ["store"], "nothing temporary is left beside the files")
        }
    }
}
