// The code between the marks is shown in docs/embedding.md. DocumentationTests compare the two.
// SNIPPET
import ResumeStore

func thumbnail(
    _ address: String, in images: MemoryStore,
    get: (HTTPFields) async throws -> FetchResponse<AsyncThrowingStream<[UInt8], any Error>>  // your HTTP client
) async throws -> [UInt8] {
    try await images.fetch(try DownloadURL(address)) { fields in try await get(fields) }.bytes
}
// END
