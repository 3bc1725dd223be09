import HTTPTypes
import ResumeDownload
import ResumeHTTP

func pauseAndResume(_ request: DownloadRequest, by downloader: Downloader) async throws -> DownloadResult {
    // SNIPPET
    let running = Task { try await downloader.download(request) }

    // Pause: what came stays in the store.
    running.cancel()

    // Go on: in this process or another one, also after a crash.
    let result = try await downloader.download(request)
    // END
    return result
}

func withSessionSettings(_ url: DownloadURL) -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(url, to: "image.iso")
    request.fields[.userAgent] = "Example/1.0"  // httpAdditionalHeaders
    request.stallTimeout = 60  // timeoutIntervalForRequest
    // END
    return request
}
