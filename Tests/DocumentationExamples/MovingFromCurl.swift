import ResumeDownload
import ResumeHTTP

func curlTerms() throws -> DownloadRequest {
    // SNIPPET
    var request = DownloadRequest(try DownloadURL("https://example.org/image.iso"), to: "image.iso")
    request.retryPolicy.retries = 10  // --retry 10
    request.rateLimit = 10 << 20  // --limit-rate 10M
    request.maximumLength = 8 << 30  // --max-filesize 8G
    request.selection = try RangeSelection(parsing: "bytes=0-1048575")  // --range 0-1048575
    // END
    return request
}
