import ResumeDownload
import ResumeHTTP

func signedRequest(
    _ signedURL: DownloadURL, signAgain: @escaping @Sendable () async throws -> DownloadURL
) -> DownloadRequest {
    // SNIPPET
    var request = ResumeDownload.DownloadRequest(signedURL, to: "model.bin")
    request.refresh = { refusal in
        guard refusal.status == 403 else { return nil }
        return RefreshedRequest(url: try await signAgain())
    }
    // END
    return request
}

func keyedRequest(_ signedURL: DownloadURL) -> DownloadRequest {
    // SNIPPET
    var request = ResumeDownload.DownloadRequest(signedURL, to: "model.bin")
    request.key = "models/7b/model.bin"
    // END
    return request
}

func retryingRequest(_ url: DownloadURL) -> DownloadRequest {
    // SNIPPET
    var request = ResumeDownload.DownloadRequest(url, to: "model.bin")
    request.retryPolicy = RetryPolicy(retries: 8, firstDelay: .seconds(1), longestDelay: .seconds(60))
    // END
    return request
}
