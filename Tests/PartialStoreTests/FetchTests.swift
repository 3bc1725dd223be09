import HTTPTypes
import OriginServer
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// What a fetch does with answers, and with clients of all kinds.
@Suite(.timeLimit(.minutes(5)))
struct FetchTests {
    static let file = Resource(Content(length: 60_000, seed: 1), etag: "\"v1\"")

    @Test("It asks again after a cut and after 503, and goes on", arguments: Place.allCases)
    func retries(_ place: Place) async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            request.number == 2
                ? .status("503 Service Unavailable")
                : .file(Self.file, for: request, cutAfter: request.number == 1 ? 9000 : nil)
        }
        try await Visit.with(place, handler) { visit in
            let bytes = try await visit.fetch(retries: 2)
            #expect(bytes == Self.file.bytes)
            #expect(visit.server.requests.count == 3)
        }
    }

    @Test("It gives up after as many tries as it has, with what went wrong", arguments: Place.allCases)
    func givesUp(_ place: Place) async throws {
        try await Visit.with(place, { _ in .status("503 Service Unavailable") }) { visit in
            let error = await #expect(throws: FetchError.self) { try await visit.fetch(retries: 2) }
            #expect(error?.status == 503 && error?.reason.code.rawValue == "status-503")
            #expect(visit.server.requests.count == 3)
            visit.server.setHandler { _ in .status("404 Not Found") }
            let refused = await #expect(throws: FetchError.self) { try await visit.fetch(retries: 2) }
            #expect(refused?.status == 404)
            #expect(visit.server.requests.count == 4)
        }
    }

    @Test("A stream that just ends when its reader is cancelled is no whole body", arguments: Place.allCases)
    func silentCancellation(_ place: Place) async throws {
        try await Visit.with(place, { .file(Self.file, for: $0) }) { visit in
            let url = try visit.url
            let store = visit.store
            let task = Task {
                try await store.fetch(url) { _ in
                    var head = HTTPResponse(status: .ok)
                    head.headerFields[.eTag] = "\"v1\""
                    // No length: only the end of the body tells how long the file is.
                    return (head, Self.partsUntilCancelled)
                }
            }
            await #expect(throws: CancellationError.self) { try await task.value }
            let held = try await visit.held()
            #expect(held.length == 30_000 && held.totalLength == nil)
            let bytes = try await visit.fetch()
            #expect(bytes == Self.file.bytes)
        }
    }

    /// Half of the file, and then nothing but the end when its reader's task is cancelled, by itself in the end.
    static var partsUntilCancelled: AsyncStream<[UInt8]> {
        let calls = Counter()
        return AsyncStream {
            if calls.add(1) == 1 { return file.content.bytes(in: 0..<30_000) }
            withUnsafeCurrentTask { $0?.cancel() }
            return nil
        }
    }

    @Test("A store on disk fetches into a file as well, which appears whole")
    func intoFile() async throws {
        try await TemporaryFolder.with { folder in
            let handler: @Sendable (OriginRequest) -> Response = {
                .file(Self.file, for: $0, cutAfter: $0.number == 1 ? 20_000 : nil)
            }
            try await OriginServer.withServer(handler: handler) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                let port = server.port
                try await store.fetch(
                    try DownloadURL(server.baseURL + "/file"), to: Destination(checking: folder["out"]),
                    retries: .init(retries: 1, firstDelay: 0.01)
                ) { try await SmallClient.get(port: port, $0) }
                #expect(try Files.bytes(folder["out"]) == Self.file.bytes)
                #expect(server.requests.last?.field("Range") == "bytes=\(20_000 - 4096)-")
                #expect(try await store.entries().isEmpty)
                await store.close()
            }
        }
    }

    @Test("A byte that flips on disk is fetched again before anything is handed over")
    func flippedByte() async throws {
        try await TemporaryFolder.with { folder in
            // So much that not all of it is compared before it goes on.
            let file = Resource(Content(length: 9_000_000, seed: 1), etag: "\"v1\"")
            let handler: @Sendable (OriginRequest) -> Response = {
                .file(file, for: $0, cutAfter: $0.number == 1 ? 8_500_000 : nil)
            }
            try await OriginServer.withServer(handler: handler) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                let visit = Visit(server: server, store: store)
                #expect(await visit.fetchCut())
                let blob = folder["store/blobs/" + (try #require(try Files.names(in: folder["store/blobs"]).first))]
                var bytes = try Files.bytes(blob)
                bytes[100_000] ^= 1
                try Files.write(bytes, to: blob)
                let transfer = try await store.begin(try visit.url)
                let plan = await transfer.plan()
                let (head, body) = try await SmallClient.get(port: server.port, plan.fields)
                _ = try await transfer.receive(head, to: plan)
                for try await part in body { try await transfer.write(Array(part)) }
                #expect(try await transfer.endBody(.whole))
                await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await transfer.takeData(upTo: .max) }
                try await transfer.close()
                #expect(try await visit.fetch() == file.bytes)
                await store.close()
            }
        }
    }

    @Test("A server that changes its file all the time is given up")
    func unstable() async throws {
        let handler: @Sendable (OriginRequest) -> Response = { request in
            let content = Content(length: 60_000, seed: UInt64(request.number))
            return .file(Resource(content, etag: "\"v\(request.number)\""), for: request, cutAfter: 20_000)
        }
        try await Visit.with(.memory, handler) { visit in
            await #expect { try await visit.fetch(retries: 100) } throws: {
                ($0 as? FetchError)?.reason.code.rawValue == "unstable"
            }
            #expect(visit.server.requests.count == 5, "three restarts are allowed")
        }
    }
}
