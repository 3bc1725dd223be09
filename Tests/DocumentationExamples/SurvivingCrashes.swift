import Foundation
import Resume

// SNIPPET
/// Called at each start: continues what an earlier process left, and keeps what is unchanged on the server.
func update(_ urls: [URL], in folder: String, with downloader: Downloader) async throws {
    for url in urls {
        var request = try DownloadRequest(url, to: "\(folder)/\(url.lastPathComponent)")
        request.ifExists = .revalidate
        let result = try await downloader.download(request)
        print(result.isExisting ? "unchanged" : "\(result.reusedBytes) bytes were there before")
    }
}
// END
