import Foundation
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Downloads of which the store holds nothing: a row is created only for those that need one.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "needs files without names"))
struct SmallDownloadTests {
    /// The number of rows that were ever created.
    private static func rows(_ origin: Origin) async throws -> Int {
        let sql = "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'download'"
        let output = try await Shell.run("sqlite3", origin.folder["store/store.sqlite"], sql)
        return try #require(Int(output.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Whether a file without a name has this many bytes.
    private static func hasUnnamed(_ length: Int, in folder: String) throws -> Bool {
        try Files.names(in: "/proc/self/fd").contains { name in
            let path = "/proc/self/fd/\(name)"
            var status = stat()
            return stat(path, &status) == 0 && status.st_nlink == 0 && status.st_size == length
                && (try? FileManager.default.destinationOfSymbolicLink(atPath: path).hasPrefix(folder)) == true
        }
    }

    /// A clock that stands still, so that a slow machine needs no row.
    private static let stopped = StoreClock(now: { .zero }, sleep: { _ in try await Task.sleep(for: .seconds(3600)) })

    private static func expectWhole(_ origin: Origin, requests: Int = 1, of resource: Resource = .old) throws {
        #expect(try Files.bytes(origin.folder["out"]) == resource.bytes)
        #expect(origin.server.requests.count == requests)
    }

    @Test("Where locks do not work and two downloads have the same row, a delivery leaves that of the other")
    func rowsOfOthers() async throws {
        try await Origin.with({ .file(.old, for: $0) }, clock: Self.stopped) { origin in
            let store = origin.folder["store/store.sqlite"]
            let rows = """
                INSERT INTO queue (id, name) VALUES (1, 'resumectl');
                INSERT INTO queued (id, queue, key, url, destination, state, priority, forced, position, list) VALUES
                    (7, 1, 'https://a.example/7', 'https://a.example/7', '/7', 'waiting', 0, 0, 0, 5),
                    (8, 1, 'https://a.example/8', 'https://a.example/8', '/8', 'waiting', 0, 0, 0, 0);
                """
            _ = try await Shell.run("sqlite3", store, rows)
            _ = try await origin.get { request in
                for id in 7...8 as ClosedRange<Int64> { request.fulfils(Self.job(id, request.storeKey)) }
            }
            try Self.expectWhole(origin)
            #expect(try await Shell.run("sqlite3", store, "SELECT id, state FROM queued") == "7|waiting\n8|waiting\n")
        }
    }

    private static func job(_ id: Int64, _ key: String) -> Job {
        Job(
            id: id, key: key, url: "", destination: "/\(id)", state: .running, priority: 0, isExclusive: false,
            position: 0, terms: nil)
    }

    @Test(
        "A delivery fulfils its rows, whatever their key looks like",
        arguments: ["a", "a#variant=2", "x\u{600}", "e\u{301}", "a\0b"], [0, 5])
    func keys(key: String, list: Int) async throws {
        try await Origin.with({ .file(.old, for: $0) }, clock: Self.stopped) { origin in
            let store = origin.folder["store/store.sqlite"]
            let stored = key == "e\u{301}" ? "\u{e9}" : key
            let rows = """
                INSERT INTO queue (id, name) VALUES (1, 'resumectl');
                INSERT INTO queued (id, queue, key, url, destination, state, priority, forced, position, list) VALUES
                    (7, 1, CAST(x'\(Hexadecimal.text(Array(stored.utf8)))' AS TEXT), '', '/7', 'running', 0, 0, 0, \(list));
                """
            _ = try await Shell.run("sqlite3", store, rows)
            _ = try await origin.get { request in
                request.key = key
                request.fulfils(Self.job(7, stored))
            }
            let left = try await Shell.run("sqlite3", store, "SELECT id, ended, file IS NOT NULL FROM queued")
            #expect(left == (list == 0 ? "" : "7|done|1\n"))
        }
    }

    @Test("A small file needs no row, and its events are those of any other file")
    func plain() async throws {
        try await Origin.with({ .file(.old, for: $0) }, clock: Self.stopped) { origin in
            let events = Mutex<[DownloadEvent]>([])
            let result = try await origin.get({ _ in }, onEvent: { event in events.withLock { $0.append(event) } })
            try Self.expectWhole(origin)
            #expect(try await Self.rows(origin) == 0)
            let length = Resource.old.content.length
            #expect(
                events.withLock { $0 } == [
                    .started(totalBytes: length), .progress(receivedBytes: length, totalBytes: length),
                    .finished(result),
                ])
            #expect(result.fetchedBytes == length && result.reusedBytes == 0)
            #expect(try await origin.store.events().map(\.kind) == [.delivered])
        }
    }

    @Test(
        "A response whose body takes long goes on with a row, and is requested once", arguments: [1, 60_000] as [Int64])
    func slow(place: Int64) async throws {
        let goOn = Flag()
        let handler: Origin.Handler = { request in
            .file(.old, for: request, pausingAt: place, for: .wait(until: { goOn.isSet }))
        }
        let isLate = Flag()
        let clock = StoreClock(now: { isLate.isSet ? StoreClock.awake.now() : .zero }, sleep: StoreClock.awake.sleep)
        try await Origin.with(handler, clock: clock) { origin in
            async let result = origin.get()
            try await wait(for: "the bytes") { try Self.hasUnnamed(Int(place), in: origin.folder.path) }
            #expect(try await origin.store.entries().isEmpty)
            isLate.set()
            // What has arrived survives the process while the server says nothing.
            try await wait(for: "the row", within: .seconds(120)) {
                try await origin.store.entries().first?.receivedBytes == place
            }
            goOn.set()
            #expect(try await result.totalBytes == Resource.old.content.length)
            try Self.expectWhole(origin)
            #expect(try await Self.rows(origin) == 1)
        }
    }

    @Test("A response that comes late needs no row")
    func late() async throws {
        let now = Atomic(0)
        let clock = StoreClock(now: { .seconds(now.load(ordering: .relaxed)) }, sleep: Self.stopped.sleep)
        let handler: Origin.Handler = { request in
            now.store(60, ordering: .relaxed)
            return .file(.old, for: request)
        }
        try await Origin.with(handler, clock: clock) { origin in
            _ = try await origin.get()
            try Self.expectWhole(origin)
            #expect(try await Self.rows(origin) == 0)
        }
    }

    @Test("A body that is cut goes on with a range after what was received")
    func cut() async throws {
        let length: Int64 = 60_000
        let requests = Atomic(0)
        try await Origin.with({ request in
            let isFirst = requests.add(1, ordering: .relaxed).oldValue == 0
            return .file(.old, for: request, cutAfter: isFirst ? length : nil)
        }) { origin in
            let result = try await origin.get()
            try Self.expectWhole(origin, requests: 2)
            #expect(origin.server.requests.last?.fields("Range") == ["bytes=\(length - ResumePolicy.defaultOverlap)-"])
            #expect(result.fetchedBytes == Resource.old.content.length + ResumePolicy.defaultOverlap)
        }
    }

    @Test("What is not a small file with a known length needs a row", arguments: [0, 1])
    func others(kind: Int) async throws {
        var resource = Resource.old
        if kind == 0 { resource.content = Content(length: SmallFetch.longest + 1, seed: 3) }
        if kind == 1 { resource.framing = .chunked(size: 5000) }
        let served = resource
        try await Origin.with({ .file(served, for: $0) }) { origin in
            _ = try await origin.get()
            try Self.expectWhole(origin, of: served)
            #expect(try await Self.rows(origin) == 1)
        }
    }

    @Test("A file with another digest is judged like any other, and kept", arguments: [true, false])
    func digest(isRight: Bool) async throws {
        try await Origin.with({ .file(.old, for: $0) }, clock: Self.stopped) { origin in
            let digest = HTTPDigest(
                .sha256, of: isRight ? Resource.old.bytes : [1])
            if isRight {
                let result = try await origin.get { $0.digest = digest }
                #expect(result.digest == digest)
                #expect(try await Self.rows(origin) == 0)
            } else {
                await origin.fails(.digestMismatch) { $0.digest = digest }
                #expect(try await origin.store.entries().map(\.receivedBytes) == [Resource.old.content.length])
            }
        }
    }

    @Test("Several downloads of one file fetch it once")
    func several() async throws {
        let goOn = Flag()
        let waiting = WaitingDownloads()
        try await Origin.with({ .file(.old, for: $0, pausingAt: 1, for: .wait(until: { goOn.isSet })) }) { origin in
            try await withThrowingTaskGroup { group in
                for number in 1...4 {
                    group.addTask {
                        try await Engine.get(
                            origin.url, to: origin.folder["\(number)"], store: origin.store, onEvent: waiting.note)
                    }
                }
                // A download that begins after the delivery of another one makes its own request.
                try await wait(for: "the others") { waiting.count == 3 }
                goOn.set()
                try await group.waitForAll()
            }
            #expect(origin.server.requests.count == 1)
            for number in 1...4 {
                #expect(
                    try Files.bytes(origin.folder["\(number)"])
                        == Resource.old.bytes)
            }
            #expect(try await origin.store.entries().isEmpty)
        }
    }

    @Test("A cancelled download leaves nothing at the destination, and no lock, and keeps what arrived")
    func cancelled() async throws {
        try await Origin.with({ .file(.old, for: $0, pausingAt: 60_000, for: .hold) }, clock: Self.stopped) { origin in
            let task = Task { try await origin.get() }
            try await wait(for: "the bytes") { try Self.hasUnnamed(60_000, in: origin.folder.path) }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(!Files.exists(origin.folder["out"]))
            let transfer = try await origin.store.open(try DownloadURL(origin.url), headerFields: [:], waits: false)
            #expect(await transfer.receivedBytes == 60_000)
            try await transfer.close()
        }
    }
}
