// What stands between the marks is the example of the README, word for word; a test compares the two.
// README
import HTTPTypes
import ResumeHTTP
import ResumeStore

func thumbnail(
    _ address: String, in images: MemoryStore,
    get: (HTTPFields) async throws -> (HTTPResponse, AsyncThrowingStream<[UInt8], any Error>)  // your client's
) async throws -> [UInt8] {
    try await images.fetch(try DownloadURL(address)) { fields in try await get(fields) }
}
// README
