import Foundation
import Resume

// SNIPPET
/// Called at each start: continues what an earlier process left, and keeps what is unchanged on the server.
func update(_ urls: [DownloadURL], in folder: String, with downloader: Downloader) async throws {
    for url in urls {
        // nil unless the name stays in the folder: for "..%2Fx", that of Foundation's URL is "../x".
        guard let name = url.lastPathComponent else { continue }
        var request = DownloadRequest(url, to: "\(folder)/\(name)")
        request.ifExists = .revalidate
        let result = try await downloader.download(request)
        print(result.isExisting ? "unchanged" : "\(result.reusedBytes) bytes were there before")
    }
}
// END
