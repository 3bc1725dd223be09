import HTTPTypes
import ResumeDownload
import ResumeHTTP
import ResumeStore

func pauseAndResume(_ request: DownloadRequest, by downloader: Downloader) async throws -> DownloadResult {
    // SNIPPET
    let running = Task { try await downloader.download(request) }

    // Pause: the received bytes stay in the store.
    running.cancel()

    // Resume: in this process or another one, even after a crash.
    let result = try await downloader.download(request)
    // END
    return result
}

func pauseWithResumeData(
    _ request: DownloadRequest, by downloader: Downloader, keep: ([UInt8]) -> Void, kept: () -> [UInt8]?
) async throws {
    // SNIPPET
    let task = downloader.makeTask(request)
    task.resume()

    if let resumeData = await task.cancelByProducingResumeData() { keep(resumeData.bytes) }

    if let bytes = kept() {
        downloader.makeTask(DownloadRequest(resuming: try ResumeData(bytes), to: "image.iso")).resume()
    }
    // END
}

func withSessionSettings(_ url: DownloadURL) -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(url, to: "image.iso")
    request.headerFields[.userAgent] = "Example/1.0"  // httpAdditionalHeaders
    request.stallTimeout = .seconds(60)  // timeoutIntervalForRequest
    // END
    return request
}
