import Foundation
import HTTPTypes
import ResumeHTTP
@testable import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Small files of which the store holds nothing, which are delivered without a row.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "needs files without names"))
struct SmallFileTests {
    static let url = "http://127.0.0.1/small.bin"
    static let length = 100_000
    static let server = HonestServer(sampleBytes(length), etag: "\"v1\"")

    static func begin(_ store: DownloadStore, _ url: String = url) async throws -> Transfer {
        try await store.open(try DownloadURL(url), headerFields: [:], waits: false)
    }

    /// What a fetch of the test does.
    struct Fetch: Sendable {
        var path: String?
        var url = SmallFileTests.url
        var server = SmallFileTests.server
        /// Where the body is cut.
        var end = Int.max
        var pieces = 30_000
        var digest: HTTPDigest?
        /// Whether a cut body ends as if it were whole.
        var hidesCut = false
        /// Called before each part with its offset.
        var onPart: @Sendable (Int) async throws -> Void = { _ in }
    }

    /// Counts the requests of a fetch.
    @discardableResult
    static func fetch(_ fetch: Fetch, in store: DownloadStore) async throws -> (requests: Int, result: FetchResult) {
        let requests = Mutex(0)
        let policy = ResumePolicy(digest: fetch.digest)
        let send: @Sendable (HTTPFields) async throws -> FetchResponse<AsyncThrowingStream<[UInt8], any Error>> = {
            fields in
            requests.withLock { $0 += 1 }
            let (head, range) = fetch.server.answer(fields)
            let end = min(range.upperBound, fetch.end)
            var position = range.lowerBound
            let next = Mutex(position)
            position = 0
            return FetchResponse(
                head: head,
                body: AsyncThrowingStream {
                    let start = next.withLock { $0 }
                    try await fetch.onPart(start)
                    guard start < end else {
                        if end < range.upperBound, !fetch.hidesCut { throw URLError(.networkConnectionLost) }
                        return nil
                    }
                    let stop = min(start + fetch.pieces, end)
                    next.withLock { $0 = stop }
                    return Array(fetch.server.content[start..<stop])
                })
        }
        let url = try DownloadURL(fetch.url)
        let retries = RetryPolicy(retries: 0)
        let result =
            if let path = fetch.path {
                try await store.fetch(url, to: path, headerFields: [:], policy: policy, retries: retries, sending: send)
            } else {
                try await store.fetch(url, headerFields: [:], policy: policy, retries: retries, sending: send)
            }
        return (requests.withLock { $0 }, result)
    }

    private static func with(
        _ clock: ManualClock? = nil, _ body: (TemporaryFolder, DownloadStore) async throws -> Void
    ) async throws {
        var configuration = DownloadStore.Configuration()
        if let clock { configuration.clock = clock.storeClock }
        try await DownloadStore.with(configuration) { try await body($1, $0) }
    }

    /// Expects that the store keeps nothing of the download.
    private static func expectNothing(in store: DownloadStore, _ folder: TemporaryFolder) async throws {
        #expect(try await store.entries().isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        #expect(try folder.blobs().isEmpty)
    }

    private static func kinds(_ store: DownloadStore) async throws -> [Event.Kind] {
        try await store.events().map(\.kind)
    }

    /// The number of rows that were ever created.
    private static func rows(_ folder: TemporaryFolder) async throws -> String {
        try await Shell.run(
            "sqlite3", folder["store/store.sqlite"],
            "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'download'"
        ).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(
        "A small file is delivered under one name, or as bytes, without a row; its delivery is logged",
        arguments: [false, true])
    func delivered(inMemory: Bool) async throws {
        try await Self.with(ManualClock()) { folder, store in
            let (requests, result) = try await Self.fetch(Fetch(path: inMemory ? nil : folder["out"]), in: store)
            #expect(requests == 1 && result.totalBytes == Int64(Self.length) && result.reusedBytes == 0)
            try await Self.expectNothing(in: store, folder)
            #expect(
                try inMemory ? result.bytes == Self.server.content : Files.bytes(folder["out"]) == Self.server.content)
            if !inMemory {
                var status = stat()
                #expect(stat(folder["out"], &status) == 0 && status.st_nlink == 1 && status.st_mode & 0o777 == 0o644)
            }
            #expect(try await Self.kinds(store) == [.delivered])
            #expect(try await Self.rows(folder) == "0")
        }
    }

    @Test("A cut body gets a row and is resumed; an empty body leaves nothing", arguments: [0, 1, 99_999])
    func cut(end: Int) async throws {
        try await Self.with { folder, store in
            await #expect(throws: URLError.self) {
                try await Self.fetch(Fetch(path: folder["out"], end: end), in: store)
            }
            #expect(try await store.entries().map(\.receivedBytes) == (end > 0 ? [Int64(end)] : []))
            let (requests, result) = try await Self.fetch(Fetch(path: folder["out"]), in: store)
            #expect(requests == 1 && result.reusedBytes == Int64(end))
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            try await Self.expectNothing(in: store, folder)
        }
    }

    @Test("A body that ends early without an error is no file")
    func short() async throws {
        try await Self.with { folder, store in
            let fetch = Fetch(path: folder["out"], end: 60_000, hidesCut: true)
            await #expect(throws: (any Error).self) { try await Self.fetch(fetch, in: store) }
            let entries = try await store.entries()
            #expect(!Files.exists(folder["out"]) && entries.map(\.receivedBytes) == [60_000])
        }
    }

    @Test("A body that takes longer than 250 ms goes on with a row, and is requested once")
    func slow() async throws {
        let clock = ManualClock()
        try await Self.with(clock) { folder, store in
            var fetch = Fetch(path: folder["out"])
            fetch.onPart = { offset in
                // Also at the end, where the body has long been handed over.
                if offset == 60_000 { clock.advance(by: .milliseconds(250)) }
                let stored = try await store.entries().count
                if offset == 90_000 { #expect(stored == 1) }
            }
            #expect(try await Self.fetch(fetch, in: store).requests == 1)
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            try await Self.expectNothing(in: store, folder)
            #expect(try await Self.kinds(store) == [.started, .delivered])
        }
    }

    @Test("A long file and a slow one get a row, and a quick one does not", arguments: [0, 1, 2])
    func large(kind: Int) async throws {
        let clock = ManualClock()
        try await Self.with(clock) { folder, store in
            var fetch = Fetch(path: folder["out"])
            if kind == 0 { fetch.server.content = sampleBytes(Int(SmallFetch.longest) + 1) }
            if kind == 1 { fetch.onPart = { _ in clock.advance(by: .milliseconds(130)) } }
            #expect(try await Self.fetch(fetch, in: store).requests == 1)
            #expect(try Files.bytes(folder["out"]) == fetch.server.content)
            #expect(try await Self.rows(folder) == (kind == 2 ? "0" : "1"))
            try await Self.expectNothing(in: store, folder)
        }
    }

    @Test("A file with the digest that the caller names is delivered without a row")
    func digest() async throws {
        try await Self.with(ManualClock()) { folder, store in
            let digest = HTTPDigest(.sha256, of: Self.server.content)
            let (_, result) = try await Self.fetch(Fetch(path: folder["out"], digest: digest), in: store)
            #expect(result.digest == digest)
            #expect(try await Self.rows(folder) == "0")
        }
    }

    @Test("A wrong digest is found, and the received file is kept")
    func wrongDigest() async throws {
        try await Self.with(ManualClock()) { folder, store in
            let fetch = Fetch(path: folder["out"], digest: HTTPDigest(.sha256, of: [1]))
            await #expect(throws: DownloadError.self) { try await Self.fetch(fetch, in: store) }
            let entries = try await store.entries()
            #expect(!Files.exists(folder["out"]) && entries.map(\.receivedBytes) == [Int64(Self.length)])
        }
    }

    @Test(
        "An existing destination is replaced and keeps its permissions; another file system gets a copy",
        arguments: [false, true])
    func elsewhere(isOther: Bool) async throws {
        try await Self.with(ManualClock()) { folder, store in
            let path = isOther ? "/dev/shm/resume-test-\(UUID().uuidString)" : folder["out"]
            defer { try? FileManager.default.removeItem(atPath: path) }
            if !isOther {
                try Files.write([1, 2, 3], to: path)
                try await Shell.run("chmod", "600", path)
            }
            try await Self.fetch(Fetch(path: path), in: store)
            #expect(try Files.bytes(path) == Self.server.content)
            #expect(try await Self.rows(folder) == (isOther ? "1" : "0"))
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == (isOther ? 0o644 : 0o600))
            #expect(status.st_nlink == 1)
            try await Self.expectNothing(in: store, folder)
            #expect(try await Self.kinds(store) == (isOther ? [.started, .delivered] : [.delivered]))
        }
    }

    @Test("A task that waits for the file gets it, and it is fetched once")
    func awaited() async throws {
        try await Self.with { folder, store in
            var fetch = Fetch(path: folder["out"])
            let sign = Mutex<WaitingSign?>(nil)
            fetch.onPart = { _ in
                let waiting = try await store.announceWaiting(for: try DownloadURL(Self.url), key: nil, selection: nil)
                sign.withLock { $0 = waiting }
            }
            #expect(try await Self.fetch(fetch, in: store).requests == 1)
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            sign.withLock { $0 = nil }
            let transfer = try await Self.begin(store)
            #expect(await transfer.isComplete)
            try await transfer.deliver(to: folder["other"])
            #expect(try Files.bytes(folder["other"]) == Self.server.content)
        }
    }

    @Test(
        "A killed process leaves nothing before the delivery and the whole file after it",
        arguments: [KillPoint.deliveryStaged, .deliveryRenamed, .deliverySynced, .rowRemoved], [false, true])
    func dies(point: KillPoint, replaces: Bool) async throws {
        let isStaged = point == .deliveryStaged
        // Only a file that replaces another one has a first name in the store.
        guard replaces || !isStaged else { return }
        try await TemporaryFolder.with { folder in
            let path = folder.path
            if replaces { try Files.write([1, 2, 3], to: folder["out"]) }
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, point = point as KillPoint] in
                var configuration = DownloadStore.Configuration()
                // On a busy machine, a file that takes longer has a row.
                configuration.clock = ManualClock().storeClock
                let store = try await DownloadStore.open(at: "\(path)/store", configuration: configuration)
                KillPoint.arm(point)
                try await SmallFileTests.fetch(Fetch(path: "\(path)/out"), in: store)
            }
            let store = try await DownloadStore.open(at: folder["store"])
            if isStaged {
                #expect(try Files.bytes(folder["out"]) == [1, 2, 3])
                #expect(try await store.collect().orphans.count == 1)
            }
            try await Self.expectNothing(in: store, folder)
            #expect(try isStaged || Files.bytes(folder["out"]) == Self.server.content)
            #expect(try Files.names(in: folder.path) == ["out", "store"])
            await store.close()
        }
    }
}
