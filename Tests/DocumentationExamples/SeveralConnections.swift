import ResumeDownload
import ResumeHTTP

func overSeveralConnections(_ url: DownloadURL) -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(url, to: "image.iso")
    request.connections = 4
    // END
    return request
}
