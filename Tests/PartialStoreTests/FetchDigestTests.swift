import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// A fetch whose caller names a digest, and errors of its client.
@Suite(.timeLimit(.minutes(5)))
struct FetchDigestTests {
    private static let file = FetchTests.file
    private static let bare = Resource(file.content)
    private static let right = HTTPDigest(.sha256, of: file.bytes)
    private static let wrong = HTTPDigest(.sha256, of: [1])

    @Test("A wrong file is not returned, and the next attempt fetches it again", arguments: Place.allCases)
    func wrongFile(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit async throws in
            let policy = ResumePolicy(digest: Self.wrong)
            for _ in 1...2 {
                let error = await #expect(throws: DownloadError.self) { try await visit.fetch(policy: policy) }
                #expect(error?.code == .digestMismatch)
            }
            #expect(visit.server.requests.map { $0.field("Range") } == [nil, nil] || visit.server.requests.count > 2)
            #expect(try await visit.fetch(policy: ResumePolicy(digest: Self.right)) == Self.file.bytes)
        }
    }

    @Test("A rotated token without a validator continues under a digest", arguments: Place.allCases)
    func rotatedToken(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.bare, for: $0, cutAfter: $0.number == 1 ? 30_000 : nil) }) { visit in
            let port = visit.server.port
            for token in ["one", "two"] {
                let result = try? await visit.store.fetch(
                    try visit.url, headerFields: [.authorization: token], policy: ResumePolicy(digest: Self.right),
                    retries: .init(retries: 0)
                ) { try await SmallClient.response(port: port, $0) }
                guard token == "two" else { continue }
                #expect(result?.bytes == Self.file.bytes && result?.digest == Self.right)
                #expect(result?.totalBytes == 60_000 && result?.reusedBytes == 30_000)
            }
            #expect(visit.request?.field("Range") == "bytes=25904-")
        }
    }

    @Test("A DownloadError of the client ends the fetch at once, unwrapped", arguments: Place.allCases)
    func clientError(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            let reason = Reason(code: "mine", text: "mine")
            let calls = Counter()
            let error = await #expect(throws: DownloadError.self) {
                try await visit.store.fetch(try visit.url) { _ -> FetchResponse<AsyncStream<[UInt8]>> in
                    calls.add(1)
                    throw DownloadError(.refused, reason, status: 418)
                }
            }
            #expect(error?.reason == reason && error?.status == 418 && calls.add(0) == 1)
        }
    }

    @Test("The body of a refusal is kept for the caller's message, up to 64 KiB", arguments: Place.allCases)
    func refusalBody(_ place: Place) async throws {
        let body = sampleBytes(100_000, seed: 3)
        try await Visit.with(place, { _ in .status("403 Forbidden", fields: [], body: body) }) { visit in
            let error = await #expect(throws: DownloadError.self) { try await visit.fetch() }
            #expect(error?.body == Array(body[..<65_536]))
        }
    }

    @Test(
        "A final URL that the client tells is compared: the same tag elsewhere is no proof", arguments: Place.allCases)
    func finalURL(_ place: Place) async throws {
        var other = sampleBytes(60_000, seed: 9)
        other[25_904..<30_000] = Self.file.bytes[25_904..<30_000]
        let moved = Resource(Content(other), etag: "\"v1\"")
        try await Visit.with(place, { .file(Self.file, for: $0, cutAfter: 30_000) }) { visit in
            #expect(await visit.fetchCut())
            visit.server.setHandler { .file(moved, for: $0) }
            let (port, final) = (visit.server.port, try DownloadURL("http://elsewhere.test/file"))
            let result = try await visit.store.fetch(try visit.url, headerFields: [:]) { fields in
                var response = try await SmallClient.response(port: port, fields)
                response.url = final
                return response
            }
            #expect(result.bytes == other && result.reusedBytes == 0)
        }
    }
}
