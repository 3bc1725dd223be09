import HTTPTypes
import ResumeHTTP
import ResumeStore

// SNIPPET
/// Loads images, and resumes those whose connection was lost.
final class Images: Sendable {
    private let store = MemoryStore(maximumSize: 64 << 20, maximumEntrySize: 4 << 20)

    func image(
        at url: DownloadURL,
        get: (HTTPFields) async throws -> FetchResponse<AsyncThrowingStream<[UInt8], any Error>>  // your HTTP client
    ) async throws -> [UInt8] {
        try await store.fetch(url) { fields in try await get(fields) }.bytes
    }

    func releaseMemory() { store.removeAll() }
}
// END
