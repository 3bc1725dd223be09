public import Foundation
public import ResumeDownload

extension Downloader {
    /// Downloads one file and reports its bytes to a Foundation `Progress`, which a view can show and which can be part
    /// of a larger one.
    ///
    /// Cancelling the progress cancels the download and keeps its partial data. Pausing it releases the connection;
    /// resuming it continues the download.
    ///
    /// ```swift
    /// let progress = Progress(totalUnitCount: -1)
    /// let file = try await downloader.download(request, reportingTo: progress)
    /// ```
    ///
    /// - Parameters:
    ///   - request: What to download, where to, and how.
    ///   - progress: Counts bytes; its total is -1 until the length of the file is known.
    /// - Returns: The path of the file, and how many of its bytes had been received before.
    /// - Throws: The errors of `download(_:onEvent:)`; `CancellationError` if the progress is cancelled.
    public func download(_ request: DownloadRequest, reportingTo progress: Progress) async throws -> DownloadResult {
        let task = makeTask(request)
        progress.totalUnitCount = -1
        progress.cancellationHandler = { task.cancel() }
        progress.pausingHandler = { task.suspend() }
        progress.resumingHandler = { task.resume() }
        if progress.isCancelled { throw CancellationError() }
        if !progress.isPaused { task.resume() }
        for await event in task.events {
            switch event {
            case .started(let total), .restarted(_, let total): progress.count(0, of: total)
            case .resumed(let received, let total), .progress(let received, let total):
                progress.count(received, of: total)
            case .finished(let result): progress.count(result.totalBytes, of: result.totalBytes)
            default: break
            }
        }
        // If this task was cancelled, the events ended before the download, which this cancels.
        return try await task.value
    }
}

extension Progress {
    fileprivate func count(_ received: Int64, of total: Int64?) {
        totalUnitCount = total ?? -1
        completedUnitCount = received
    }
}
