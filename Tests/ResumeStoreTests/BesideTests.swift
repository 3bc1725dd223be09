import HTTPTypes
@testable import ResumeHTTP
@testable import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Data that is kept beside its replacement, and responses that are not taken for one.
@Suite(.timeLimit(.minutes(5)))
struct BesideTests {
    private static let server = HonestServer(sampleBytes(300_000))

    /// Runs a test with a store that has the first 200,000 bytes of ``server``.
    private static func withHeld(_ body: (DownloadStore, TemporaryFolder) async throws -> Void) async throws {
        try await DownloadStore.with { store, folder in
            try await store.leave(200_000, of: server)
            try await body(store, folder)
        }
    }

    private static func held(_ store: DownloadStore) async throws -> [Int64] {
        try await store.entries().map(\.receivedBytes).sorted()
    }

    @Test("A restart keeps the stored bytes until the file is delivered, and is continued after an interruption")
    func restart() async throws {
        try await Self.withHeld { store, folder in
            let refused = try await store.begin()
            try await refused.restart()
            #expect(await refused.plan() == .whole(reason: nil))
            try await refused.close()
            #expect(try await Self.held(store) == [200_000], "no response has replaced it")
            let restarted = try await store.begin()
            try await restarted.restart()
            try await Self.server.fill(restarted, upTo: 100_000)
            try await restarted.close()
            #expect(try await Self.held(store) == [100_000, 200_000])
            let transfer = try await store.begin()
            #expect(await transfer.receivedBytes == 100_000)
            #expect(try await Self.server.fill(transfer))
            try await transfer.deliver(to: folder["out"])
            #expect(try await store.entries().isEmpty)
            let events = try await store.events(for: TransferTests.url)
            #expect(events.contains { $0.reason == .restartRequested && $0.bytes == 200_000 })
        }
    }

    @Test("A restart of a pinned download leaves it pinned, and removes it when the file is delivered")
    func pinned() async throws {
        try await Self.withHeld { store, folder in
            _ = try await store.setPinned(true, for: TransferTests.url)
            let refused = try await store.begin()
            try await refused.restart()
            try await refused.close()
            #expect(try await store.entries().map(\.isPinned) == [true])
            let transfer = try await store.begin()
            try await transfer.restart()
            #expect(try await Self.server.fill(transfer))
            try await transfer.deliver(to: folder["out"])
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test("Encoded bytes stay when the unencoded file is requested, until that is delivered")
    func coding() async throws {
        try await DownloadStore.with { store, folder in
            let url = try DownloadURL(TransferTests.url)
            let coded = try await store.open(url, headerFields: [:], policy: ResumePolicy(storesCoded: true))
            let plan = await coded.plan()
            var head = Self.server.answer(plan.fields).head
            head.headerFields[.contentEncoding] = "gzip"
            _ = try await coded.receive(head, to: plan)
            try await coded.write(Array(Self.server.content[..<1000]))
            _ = try await coded.endBody(.cut)
            try await coded.close()
            let transfer = try await store.begin()
            #expect(try await Self.held(store) == [0, 1000])
            #expect(try await Self.server.fill(transfer), "the same validator is not that of the encoded bytes")
            try await transfer.deliver(to: folder["out"])
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test(
        "A body of unknown length that is empty, or short and without a validator, replaces nothing",
        arguments: [0, 1000, 149_999])
    func short(_ length: Int) async throws {
        try await Self.withHeld { store, folder in
            let transfer = try await store.begin()
            _ = await transfer.nextRequest()
            var step = try await transfer.receive(HTTPResponse(status: .ok))
            #expect(step == .writeBody)
            try await transfer.write(Array(Self.server.content[..<length]))
            #expect(try await transfer.endBody(.whole) == false)
            #expect(await transfer.receivedBytes == 200_000)
            let last = try #require(try await store.events(for: TransferTests.url).last)
            #expect(last.reason.code.rawValue == "file-shrunk")
            let entry = try #require(try await store.entries().first)
            #expect(entry.objections.sightings?.days == 1)
            #expect(try await Self.held(store) == [200_000])
            // What is long enough may be a new version.
            _ = await transfer.nextRequest()
            step = try await transfer.receive(HTTPResponse(status: .ok))
            try await transfer.write(Array(Self.server.content[..<150_000]))
            #expect(try await transfer.endBody(.whole))
            try await transfer.deliver(to: folder["out"])
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test("A fetch that gets an empty body of unknown length fails for now")
    func emptyFetch() async throws {
        try await Self.withHeld { store, folder in
            let error = await #expect(throws: DownloadError.self) {
                try await store.fetch(
                    try DownloadURL(TransferTests.url), to: folder["out"], headerFields: [:],
                    retries: RetryPolicy(retries: 0)
                ) { _ in
                    FetchResponse(
                        head: HTTPResponse(status: .ok, headerFields: [.eTag: "\"v2\""]),
                        body: AsyncStream<[UInt8]> { $0.finish() })
                }
            }
            #expect(error?.code == .unreachable && error?.reason.code.rawValue == "file-shrunk")
            #expect(error?.reason.text.contains("--restart") == true)
            let held = try await Self.held(store)
            #expect(held == [200_000])
            #expect(Files.exists(folder["out"]) == false)
        }
    }

    @Test("A page is from another host if the stored bytes are not from there, whatever host was asked for")
    func host() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.begin()
            var (head, _) = Self.server.answer(await transfer.nextRequest())
            head.headerFields[.contentType] = "application/zip"
            let mirror = try DownloadURL("https://mirror.test/a.zip")
            _ = try await transfer.receive(head, from: mirror)
            try await transfer.write(Array(Self.server.content[..<200_000]))
            _ = try await transfer.endBody(.cut)
            let page = HTTPResponse(
                status: .ok,
                headerFields: [.contentType: "text/html", .eTag: "\"p\"", .contentLength: "300000"])
            _ = await transfer.nextRequest(avoidingRange: .restartRequested)
            guard case .retry(let reason, _) = try await transfer.receive(page) else {
                Issue.record("the page was taken for the file")
                return
            }
            #expect(reason.code.rawValue == "portal-suspected")
            _ = await transfer.nextRequest(avoidingRange: .restartRequested)
            #expect(try await transfer.receive(page, from: mirror) == .writeBody)
            try await transfer.close()
        }
    }

    @Test("The digest that only a later part has is kept in the row")
    func digest() async throws {
        try await Self.withHeld { store, folder in
            let transfer = try await store.begin()
            var (head, _) = Self.server.answer(await transfer.nextRequest())
            let digest = try #require(HTTPDigest(.sha256, of: Self.server.content))
            head.headerFields[try #require(HTTPField.Name("Repr-Digest"))] = digest.fieldValue
            #expect(try await transfer.receive(head) == .writeBody)
            try await transfer.close()
            let entry = try #require(try await store.entries().first)
            #expect(HTTPDigest(field: entry.representation?.reprDigest) == digest)
        }
    }

    @Test("A small file without a row stays, too, when a new version replaces it")
    func small() async throws {
        try await DownloadStore.with { store, _ in
            let transfer = try await store.begin()
            let head = Self.server.answer(await transfer.nextRequest()).head
            _ = try await transfer.receive(head)
            try await transfer.write(Array(Self.server.content[..<100_000]))
            _ = await transfer.nextRequest(avoidingRange: .restartRequested)
            let new = HonestServer(Self.server.content, etag: "\"v2\"").answer([:]).head
            #expect(try await transfer.receive(new) == .writeBody)
            try await transfer.write(Array(Self.server.content[..<1000]))
            try await transfer.close()
            #expect(try await Self.held(store) == [1000, 100_000])
        }
    }

    @Test("The version that makes room for a fifth one is the least recently used, and an event says so")
    func fifth() async throws {
        try await TemporaryFolder.with { folder in
            let lost = Mutex<[Int64]>([])
            var configuration = DownloadStore.Configuration()
            configuration.onCollection = { report, _ in lost.withLock { $0 += report.removed.map(\.bytes) } }
            let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
            for version in 1...5 {
                let server = HonestServer(sampleBytes(300_000), etag: "\"v\(version)\"")
                try await store.leave(version * 10_000, of: server)
            }
            #expect(try await Self.held(store) == [20_000, 30_000, 40_000, 50_000])
            let events = try await store.events(for: TransferTests.url)
            #expect(events.contains { $0.kind == .evicted && $0.bytes == 10_000 })
            #expect(lost.withLock { $0 } == [10_000])
            let transfer = try await store.begin()
            #expect(await transfer.receivedBytes == 50_000, "the newest one is continued")
            try await transfer.close()
            await store.close()
        }
    }
}
