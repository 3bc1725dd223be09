import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Small downloads, which get a row only when they need one.
@Suite(
    .timeLimit(.minutes(5)),
    .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "needs files without names"))
struct BriefTests {
    static let url = "http://127.0.0.1/small.bin"
    static let length = 100_000
    static let server = HonestServer(sampleBytes(length), etag: "\"v1\"")

    static func begin(_ store: DownloadStore, _ url: String = url) async throws -> Transfer {
        try await store.open(try DownloadURL(url), headerFields: [:], waits: false)
    }

    /// Receives a body as the engine does, to its end or up to a given offset.
    static func receive(_ transfer: Transfer, upTo end: Int = length) async throws {
        let plan = await transfer.plan()
        let (head, body) = server.answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        try await transfer.write(Array(server.content[body.lowerBound..<end]))
        _ = try await transfer.endBody(end == length ? .whole : .cut, isDelivered: true)
    }

    private static func with(
        _ clock: ManualClock? = nil, _ body: (TemporaryFolder, DownloadStore) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            var configuration = DownloadStore.Configuration()
            if let clock { configuration.clock = clock.storeClock }
            configuration.trustsLengths = clock == nil
            let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
            try await body(folder, store)
            await store.close()
        }
    }

    /// Expects that the store keeps nothing of the download.
    private static func expectNothing(in store: DownloadStore, _ folder: TemporaryFolder) async throws {
        #expect(try await store.entries().isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
    }

    private static func kinds(_ store: DownloadStore) async throws -> [Event.Kind] {
        try await store.events().map(\.kind)
    }

    @Test("A small download is delivered under one name without a row, and its start and end are logged")
    func delivered() async throws {
        // The clock does not advance.
        try await Self.with(ManualClock()) { folder, store in
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer)
            try await Self.expectNothing(in: store, folder)
            try await transfer.deliver(to: Destination(checking: folder["out"]))
            try await Self.expectNothing(in: store, folder)
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            var status = stat()
            #expect(stat(folder["out"], &status) == 0 && status.st_nlink == 1 && status.st_mode & 0o777 == 0o644)
            #expect(try await Self.kinds(store) == [.started, .delivered])
        }
    }

    @Test("A cut body gets a row and is resumed; an empty body leaves nothing", arguments: [0, 1, 99_999])
    func cut(end: Int) async throws {
        try await Self.with { folder, store in
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer, upTo: end)
            #expect(try await store.entry(for: Self.url)?.receivedBytes == Int64(end))
            try await transfer.close()
            #expect(try await store.entries().map(\.receivedBytes) == (end > 0 ? [Int64(end)] : []))
            let next = try await Self.begin(store)
            #expect(await next.partial.length == Int64(end))
            try await Self.receive(next)
            try await next.deliver(to: Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            try await Self.expectNothing(in: store, folder)
        }
    }

    @Test("An undelivered download gets a row on close and can be delivered later without a request")
    func closed() async throws {
        try await Self.with { folder, store in
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer)
            try await transfer.close()
            let next = try await Self.begin(store)
            #expect(await next.isComplete)
            try await next.deliver(to: Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
        }
    }

    @Test("A checkpoint creates a row, and later bytes are recorded in it")
    func checkpoint() async throws {
        try await Self.with(ManualClock()) { folder, store in
            let transfer = try await Self.begin(store)
            let plan = await transfer.plan()
            _ = try await transfer.receive(Self.server.answer(plan.fields).head, to: plan)
            try await transfer.checkpoint()
            #expect(try await store.entries().isEmpty, "nothing was received")
            try await transfer.write(Array(Self.server.content[..<10_000]))
            try await transfer.checkpoint()
            #expect(try await store.entry(for: Self.url)?.receivedBytes == 10_000)
            try await transfer.write(Array(Self.server.content[10_000...]))
            #expect(try await transfer.endBody(.whole))
            #expect(try await store.entry(for: Self.url)?.receivedBytes == Int64(Self.length))
            try await transfer.deliver(to: Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            try await Self.expectNothing(in: store, folder)
        }
    }

    @Test("A download that takes longer than 250 ms gets a row, and later bytes are recorded in it")
    func slow() async throws {
        let clock = ManualClock()
        try await Self.with(clock) { folder, store in
            let transfer = try await Self.begin(store)
            let plan = await transfer.plan()
            _ = try await transfer.receive(Self.server.answer(plan.fields).head, to: plan)
            try await transfer.write(Array(Self.server.content[..<10_000]))
            try await clock.untilSomethingSleeps(within: .milliseconds(250))
            clock.advance(by: .milliseconds(249))
            #expect(try await store.entries().isEmpty)
            clock.advance(by: .milliseconds(1))
            try await wait(for: "the row") { try await store.entry(for: Self.url)?.receivedBytes == 10_000 }
            try await transfer.write(Array(Self.server.content[10_000..<60_000]))
            try await clock.untilSomethingSleeps(within: .milliseconds(250))
            clock.advance(by: .milliseconds(250))
            try await wait(for: "the row") { try await store.entry(for: Self.url)?.receivedBytes == 60_000 }
            try await transfer.write(Array(Self.server.content[60_000...]))
            _ = try await transfer.endBody(.whole, isDelivered: true)
            try await transfer.deliver(to: Destination(checking: folder["out"]))
            #expect(try Files.bytes(folder["out"]) == Self.server.content)
            try await Self.expectNothing(in: store, folder)
            #expect(try await Self.kinds(store) == [.started, .delivered])
        }
    }

    @Test(
        "An existing destination is replaced and keeps its permissions; another file system gets a copy",
        arguments: [false, true])
    func elsewhere(isOther: Bool) async throws {
        // The clock does not advance, so no row is needed for a file that is delivered with others.
        try await Self.with(ManualClock()) { folder, store in
            let path = isOther ? "/dev/shm/resume-test-\(UUID().uuidString)" : folder["out"]
            defer { try? FileManager.default.removeItem(atPath: path) }
            if !isOther {
                try Files.write([1, 2, 3], to: path)
                try await Shell.run("chmod", "600", path)
            }
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer)
            let hasRow = Mutex(false)
            await transfer.run { $0.whenClaimed { _ in hasRow.withLock { $0 = true } } }
            try await transfer.deliver(to: Destination(checking: path))
            #expect(try Files.bytes(path) == Self.server.content)
            #expect(hasRow.withLock { $0 } == isOther)
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == (isOther ? 0o644 : 0o600))
            #expect(status.st_nlink == 1)
            try await Self.expectNothing(in: store, folder)
            #expect(try await Self.kinds(store) == [.started, .delivered])
        }
    }

    @Test(
        "A folder in which the store's files cannot be linked is not retried with others", arguments: [false, true])
    func refused(isOther: Bool) async throws {
        try await Self.with(ManualClock()) { folder, store in
            let out = isOther ? "/dev/shm/resume-test-\(UUID().uuidString)" : folder["out"]
            try await Shell.run("mkdir", out)
            defer { try? FileManager.default.removeItem(atPath: out) }
            var told: [Int] = []
            for number in 1...3 {
                let transfer = try await Self.begin(store)
                try await Self.receive(transfer)
                let received = Mutex(false)
                try await transfer.deliver(
                    to: Destination(checking: "\(out)/\(number)"), fulfilling: [], isProved: true,
                    onReceived: { _ in received.withLock { $0 = true } })
                if received.withLock({ $0 }) { told.append(number) }
                #expect(try Files.bytes("\(out)/\(number)") == Self.server.content)
            }
            #expect(told == (isOther ? [1] : [1, 2, 3]))
        }
    }

    @Test("Closing a download during delivery loses nothing, whether or not the link succeeded")
    func closedDuringDelivery() async throws {
        try await Self.with { folder, store in
            for number in 1...20 {
                let out =
                    number.isMultiple(of: 2) ? folder["\(number)"] : "/dev/shm/resume-test-\(UUID().uuidString)/out"
                let other = (out as NSString).deletingLastPathComponent
                try await Shell.run("mkdir", "-p", other)
                defer { if other.hasPrefix("/dev/shm/") { try? FileManager.default.removeItem(atPath: other) } }
                let transfer = try await Self.begin(store, "\(Self.url)/\(number)")
                try await Self.receive(transfer)
                let (begun, tell) = AsyncStream.makeStream(of: Void.self)
                let delivery = Task {
                    defer { tell.finish() }
                    try await transfer.deliver(
                        to: Destination(checking: out), fulfilling: [], isProved: true,
                        onReceived: { _ in tell.yield() })
                }
                for await _ in begun { break }
                try? await transfer.close()
                _ = try? await delivery.value
                let isHeld = try await store.entry(for: "\(Self.url)/\(number)")?.receivedBytes == Int64(Self.length)
                #expect(isHeld || Files.exists(out), "\(number)")
            }
        }
    }

    @Test("A destination that must not be replaced is kept, and the download stays stored", arguments: [false, true])
    func taken(isTaken: Bool) async throws {
        try await Self.with { folder, store in
            if isTaken { try Files.write([1, 2, 3], to: folder["out"]) }
            var destination = try Destination(checking: folder["out"])
            destination.replaces = false
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer)
            if isTaken {
                let kept = destination
                await #expect(throws: StoreError(.destinationExists, "")) { try await transfer.deliver(to: kept) }
                try await transfer.close()
                #expect(try await store.entries().map(\.state) == [.complete])
                #expect(try Files.bytes(folder["out"]) == [1, 2, 3])
            } else {
                try await transfer.deliver(to: destination)
                #expect(try Files.bytes(folder["out"]) == Self.server.content)
                try await Self.expectNothing(in: store, folder)
            }
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
                [path = path as String, point = point.rawValue as Int] in
                let store = try await DownloadStore.open(at: "\(path)/store")
                let transfer = try await BriefTests.begin(store)
                try await BriefTests.receive(transfer)
                if let point = KillPoint(rawValue: point) { KillPoint.arm(point) }
                try await transfer.deliver(to: Destination(checking: "\(path)/out"))
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

    @Test("A row that another program creates during the download is left alone")
    func overtaken() async throws {
        try await Self.with(ManualClock()) { folder, store in
            let transfer = try await Self.begin(store)
            try await Self.receive(transfer)
            try await Shell.run(
                "sqlite3", folder["store/store.sqlite"],
                """
                INSERT INTO download (key, url, created_at, used_at, boot_id) VALUES ('\(Self.url)', '\(Self.url)', 1, 1, 'x');
                UPDATE store SET entries = entries + 1;
                """)
            let row = try await store.entry(for: Self.url)
            // A delivery that must not replace anything needs a row.
            var destination = try Destination(checking: folder["out"])
            destination.replaces = false
            let kept = destination
            await #expect(throws: StoreError(.superseded, "")) { try await transfer.deliver(to: kept) }
            #expect(try await store.entry(for: Self.url) == row)
            #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
            #expect(!Files.exists(folder["out"]))
            try? await transfer.close()
            #expect(try await store.entry(for: Self.url) == row)
        }
    }
}
