import Foundation
import ResumeCurl
import ResumeDownload
import ResumeHTTP
import ResumeStore

/// The media of a program in a folder.
///
/// Media that the user looks at come first, and no received byte is fetched again.
struct MediaLibrary: Sendable {
    private let folder: String
    private let origin: String
    private let store: DownloadStore
    private let transport: CurlTransport
    private let queue: DownloadQueue

    /// Opens the library and resumes the downloads of an earlier run.
    ///
    /// - Parameters:
    ///   - folder: The folder for the media.
    ///   - origin: The URL of their server, to which names are appended.
    ///   - onFinish: Called for each download that was delivered or failed.
    /// - Returns: The library. Close it at the end.
    /// - Throws: An error if the folder cannot be used, or another process has the library open.
    static func open(
        in folder: String, from origin: String,
        onFinish: @escaping @Sendable (String, Result<DownloadResult, any Error>) -> Void
    ) async throws -> MediaLibrary {
        let store = try await DownloadStore.open(at: "\(folder)/.partial")
        let transport = CurlTransport()
        let queue = try await DownloadQueue.open(
            Downloader(store: store, transport: transport),
            configuration: .init(maximumRunning: 2, onFinish: onFinish))
        try await queue.resumeRestored()
        return MediaLibrary(folder: folder, origin: origin, store: store, transport: transport, queue: queue)
    }

    /// Adds downloads for cells that became visible, the newest first.
    func show(_ names: [String]) async throws {
        try await queue.add(try names.map(request), priority: .low)
    }

    /// Downloads an item that the user tapped, and pauses all other downloads until it is complete.
    ///
    /// Repeated calls fetch it only once.
    func open(_ name: String) async throws -> DownloadResult {
        try await queue.download(request(name), isExclusive: true)
    }

    /// Cancels the download of a cell that is no longer visible, and keeps its partial data for later.
    func leave(_ name: String) async throws {
        await queue.cancel(try request(name))
    }

    /// Returns a human-readable report.
    func report() async -> DownloadQueue.Report { await queue.report() }

    /// Waits until all downloads have ended.
    func wait() async { await queue.waitUntilIdle() }

    /// Closes the library; unfinished downloads continue when it is opened again.
    func close() async throws {
        await queue.close()
        await transport.shutdown()
        await store.close()
    }

    private func request(_ name: String) throws -> DownloadRequest {
        DownloadRequest(try DownloadURL("\(origin)/\(name)"), to: "\(folder)/\(name)")
    }
}
