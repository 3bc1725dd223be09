import OriginServer
@testable import ResumeCommands
import Testing

/// Stores and files of the last release.
@Suite(.timeLimit(.minutes(5)))
struct UpgradeTests {
    private let home = Home()

    @Test("A store of the last release goes on without samples, and the result is proved")
    func partial() async throws {
        try await LastReleaseStore.write(to: home)
        let resource = Resource(Content(LastReleaseStore.bytes), etag: "\"v1\"")
        let server = try await home.serve { .file(resource, for: $0) }
        // The hash of the request contains the URL, so the server is the proxy of a name that does not exist.
        let environment = ["RESUMECTL_STORE": home.store, "http_proxy": server.baseURL]
        await home.run(
            "get", LastReleaseStore.url, "-o", home["file.bin"], "--json", environment: environment
        ).expect(.success, prints: "\"proved\":true")
        #expect(try home.bytes("file.bin") == LastReleaseStore.bytes)
        #expect(server.requests.map { $0.field("Range") } == ["bytes=195904-"])
        #expect(server.requests.first?.field("If-Range") == "\"v1\"")
    }
}
