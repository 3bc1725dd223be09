import ResumeDownload

// SNIPPET
nonisolated(nonsending) func play(
    _ request: DownloadRequest, with downloader: Downloader, feed: ([UInt8]) -> Void
) async throws {
    let stream = downloader.makeStream(request)
    for try await piece in stream {
        feed(piece)
    }
    // The file is complete, verified and delivered. Stored ranges can be read at any time.
    feed(try await stream.read(0..<min(64, stream.value.totalBytes)))
}
// END

// SNIPPET
/// Plays from an offset, for example after the user has moved a slider.
nonisolated(nonsending) func play(_ stream: DownloadStream, from offset: Int64, feed: ([UInt8]) -> Void) async throws {
    for try await piece in stream.bytes(from: offset) {
        feed(piece)
    }
}
// END

// SNIPPET
/// Returns the bytes of a range, or nil if some of them are not stored yet.
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
