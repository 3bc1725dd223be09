import Resume

// SNIPPET
func downloadSigned(
    _ name: String, with downloader: Downloader, sign: @escaping @Sendable (String) async throws -> DownloadURL
) async throws -> DownloadResult {
    var request = DownloadRequest(try await sign(name), to: name)
    request.key = "models/\(name)"
    request.refresh = { challenge in
        guard [401, 403].contains(challenge.status) else { return nil }
        return RefreshedRequest(url: try await sign(name))
    }
    return try await downloader.download(request)
}
// END
