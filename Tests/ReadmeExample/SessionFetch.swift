import Foundation
import ResumeHTTP
import ResumeStore
import ResumeURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

// The example of `URLSession.fetchResponse(for:adding:)`.
func fetch(
    _ url: DownloadURL, _ request: URLRequest, to path: String, in store: DownloadStore, with session: URLSession
) async throws {
    // SNIPPET
    try await store.fetch(url, to: path) { fields in
        try await session.fetchResponse(for: request, adding: fields)
    }
    // END
}
