import ResumeDownload

// What stands between the marks is in the README, word for word; a test compares the two.
// README
nonisolated(nonsending) func play(
    _ request: DownloadRequest, with downloader: Downloader, feed: ([UInt8]) -> Void
) async throws {
    let stream = downloader.stream(request)
    for try await piece in stream {
        feed(piece)
    }
    // Every byte was verified, and the file is there. Ranges that are held can be read at any time.
    feed(try await stream.read(0..<min(64, stream.value.totalBytes)))
}
// README
