import ResumeDownload

/// The examples are called from a user interface as well, with closures that belong to it.
@MainActor
func countOnMainActor(_ request: DownloadRequest, with downloader: Downloader) async throws -> Int {
    var count = 0
    try await play(request, with: downloader) { count += $0.count }
    return count
}
