import Foundation
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore

/// The media of a program, in a folder: what is looked at comes first, and nothing that came is fetched again.
struct MediaLibrary: Sendable {
    private let folder: String
    private let origin: String
    private let store: DownloadStore
    private let transport: AsyncHTTPTransport
    private let queue: DownloadQueue

    /// Opens the library and goes on with what an earlier run left.
    ///
    /// - Parameters:
    ///   - folder: Where the media go.
    ///   - origin: Where they come from; a name follows it.
    ///   - onFinish: Told of each one that is there, or failed.
    /// - Returns: The library. Close it at the end.
    /// - Throws: Where the folder cannot be used, or another process has it open.
    static func open(
        in folder: String, from origin: String,
        onFinish: @escaping @Sendable (String, Result<DownloadResult, any Error>) -> Void
    ) async throws -> MediaLibrary {
        let store = try await DownloadStore.open(at: "\(folder)/.partial")
        let transport = AsyncHTTPTransport()
        let queue = try await DownloadQueue.open(
            Downloader(store: store, transport: transport),
            configuration: .init(maximumRunning: 2, onFinish: onFinish))
        try await queue.resumeRestored()
        return MediaLibrary(folder: folder, origin: origin, store: store, transport: transport, queue: queue)
    }

    /// Cells come into sight: their media are fetched when it is their turn, the newest first.
    func show(_ names: [String]) async throws {
        try await queue.add(try names.map(request), priority: .low)
    }

    /// One is tapped: everything else pauses until it is there.
    ///
    /// Asked for twice, it is fetched once.
    func open(_ name: String) async throws -> DownloadResult {
        try await queue.download(request(name), isForced: true)
    }

    /// A cell goes out of sight: its download is given up, but what came is kept for when it returns.
    func leave(_ name: String) async throws {
        await queue.cancel(try request(name).storeKey, .soft)
    }

    /// What runs, waits and is paused, for a person.
    func report() async -> QueueReport { await queue.report() }

    /// Waits until everything is there.
    func wait() async { await queue.waitUntilIdle() }

    /// Ends the library; what is not there yet goes on when it is opened again.
    func close() async throws {
        await queue.close()
        try await transport.shutdown()
        await store.close()
    }

    private func request(_ name: String) throws -> DownloadRequest {
        DownloadRequest(try DownloadURL("\(origin)/\(name)"), to: "\(folder)/\(name)")
    }
}
