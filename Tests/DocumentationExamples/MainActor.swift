import ResumeDownload

/// Calls an example from a user interface, with a closure that is isolated to the main actor.
@MainActor
func countOnMainActor(_ request: DownloadRequest, with downloader: Downloader) async throws -> Int {
    var count = 0
    try await play(request, with: downloader) { count += $0.count }
    return count
}
