import ResumeDownload
import ResumeHTTP
import ResumeStore

func follow(
    _ downloader: Downloader, _ url: DownloadURL, feed: ([UInt8]) -> Void
) async throws -> DownloadResult {
    // SNIPPET
    let stream = downloader.stream(DownloadRequest(url, to: "film.mp4"))
    for try await piece in stream { feed(piece) }
    // Every byte was verified, and the file is there.
    let result = try await stream.value
    // END
    return result
}

// SNIPPET
/// The bytes of a range, where all of them are held; nil where some are not yet.
func bytes(_ range: Range<Int64>, of stream: DownloadStream) async throws -> [UInt8]? {
    do {
        return try await stream.read(range)
    } catch let error as StoreError where error.code == .notHeld {
        return nil
    }
}
// END

func look(_ transfer: Transfer) async throws {
    // SNIPPET
    for range in await transfer.heldRanges {
        let beginning = try await transfer.read(range.lowerBound..<min(range.upperBound, range.lowerBound + 64))
        print("\(range): \(beginning)")
    }
    // END
}
