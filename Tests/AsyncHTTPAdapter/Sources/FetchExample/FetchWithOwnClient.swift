import AsyncHTTPClient
import ResumeAsyncHTTP
import ResumeStore

// The example of the landing page of ResumeAsyncHTTP.

// SNIPPET
/// Downloads into a file with the client of the application; a later call continues what an earlier one has received.
func fetch(
    _ url: DownloadURL, to path: String, in store: DownloadStore, with client: HTTPClient
) async throws -> FetchResult {
    try await store.fetch(url, to: path) { fields in
        var request = HTTPClientRequest(url: url.absoluteString)
        for field in fields { request.headers.add(name: field.name.rawName, value: field.value) }
        return try FetchResponse(await client.execute(request, deadline: .distantFuture))
    }
}
// END
