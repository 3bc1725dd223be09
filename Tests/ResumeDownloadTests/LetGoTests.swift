import HTTPTypes
import ResumeAsyncHTTP
import Testing

/// Transports that nobody shuts down, as where an error ends the function that made one.
struct LetGoTests {
    @Test("A transport that is let go ends by itself, and its program goes on")
    func transport() async throws {
        await #expect(processExitsWith: .success) {
            do {
                let transport = AsyncHTTPTransport(.init(connectTimeout: 1, threads: 1))
                let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:1", path: "/")
                _ = try? await transport.send(request)
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }
}
