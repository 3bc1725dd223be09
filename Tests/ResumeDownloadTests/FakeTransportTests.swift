import Foundation
import HTTPTypes
import ResumeDownload
import ResumeHTTP
import ResumeStore
import ResumeTesting
import TestSupport
import Testing

/// Downloads without a network, and over sequences.
@Suite(.timeLimit(.minutes(10)))
struct FakeTransportTests {
    static let content = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 11) }
    static let url = URL(string: "https://example.org/file") ?? URL(filePath: "/")

    static func with(
        _ transport: FakeTransport, _ body: (Downloader, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            try await body(Downloader(store: store, transport: transport), folder)
        }
    }

    static func request(_ folder: TemporaryFolder) throws -> DownloadRequest {
        var request = try DownloadRequest(url, to: folder["out"])
        request.retryPolicy = RetryPolicy(firstDelay: .milliseconds(1))
        return request
    }

    @Test("A cut body is continued, after a status that allows it")
    func cut() async throws {
        let transport = FakeTransport(FakeResource(Self.content, cuts: [50_000], statuses: [503]))
        try await Self.with(transport) { downloader, folder in
            let result = try await downloader.download(try Self.request(folder))
            #expect(FileManager.default.contents(atPath: result.path) == Data(Self.content))
            #expect(transport.requests.map { $0.headerFields[.range] } == [nil, nil, "bytes=45904-"])
        }
    }

    @Test("Another entity tag restarts the download, and a path without a resource is refused")
    func changed() async throws {
        let transport = FakeTransport(FakeResource(Self.content, cuts: [50_000]))
        try await Self.with(transport) { downloader, folder in
            var request = try Self.request(folder)
            request.retryPolicy.retries = 0
            await #expect(throws: DownloadError.self) { try await downloader.download(request) }
            let other = Array(Self.content.reversed())
            transport.set(FakeResource(other, entityTag: "\"2\""))
            let result = try await downloader.download(request)
            #expect(FileManager.default.contents(atPath: result.path) == Data(other))
            transport.set(nil)
            await #expect { try await downloader.download(request) } throws: { ($0 as? DownloadError)?.status == 404 }
        }
    }

    @Test("Streams begin at any offset, wait, and know their length")
    func offsets() async throws {
        let transport = FakeTransport(FakeResource(Self.content, cuts: [90_000]))
        try await Self.with(transport) { downloader, folder in
            let stream = downloader.makeStream(try Self.request(folder))
            #expect(try await stream.totalBytes == 200_000)
            #expect(try await stream.read(150_000..<150_010, waits: true) == Array(Self.content[150_000..<150_010]))
            var bytes: [UInt8] = []
            for try await piece in stream.bytes(from: 199_000) { bytes += piece }
            #expect(bytes == Array(Self.content[199_000...]))
            await #expect(throws: StoreError.self) { try await stream.read(199_990..<200_010, waits: true) }
        }
    }

    @Test("A reader that sleeps gets every event, and the last progress")
    func slowReader() async throws {
        let cuts = (0..<40).map { _ in 9_000 }
        let transport = FakeTransport(FakeResource(Self.content, cuts: cuts))
        try await Self.with(transport) { downloader, folder in
            var request = try Self.request(folder)
            request.retryPolicy.retries = 100
            var events: [DownloadEvent] = []
            for try await event in downloader.events(request) {
                if events.isEmpty { try await Task.sleep(for: .seconds(2)) }
                events.append(event)
            }
            let resumed = events.filter { if case .resumed = $0 { true } else { false } }
            #expect(resumed.count == transport.requests.count - 1)
            #expect(events.last?.fraction == 1)
        }
    }
}
