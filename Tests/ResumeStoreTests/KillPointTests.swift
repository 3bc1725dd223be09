import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import TestSupport
import Testing

/// The process is killed by SIGKILL between any two steps.
///
/// The parent opens the store again and continues.
@Suite(.timeLimit(.minutes(20)))
struct KillPointTests {
    @Temporary private var folder
    static let url = "http://127.0.0.1/file.bin"
    static let old = HonestServer(sampleBytes(2_000_000), etag: "\"v1\"")
    static let new = HonestServer(sampleBytes(2_500_000, seed: 9), etag: "\"v2\"")

    /// A workflow that passes every kill point except the collector's: a partial, a changed file, a delivery.
    static func download(
        in path: String, dyingAt point: KillPoint?, occurrence: Int, of server: HonestServer = new,
        replaces: Bool = true
    ) async throws {
        let store = try await DownloadStore.open(at: "\(path)/store", configuration: .init(durableInterval: 1 << 20))
        let transfer = try await store.begin(url)
        if point == nil || point == .startedOver {
            try await old.fill(transfer, upTo: 1_500_000)
        }
        if let point { KillPoint.arm(point, occurrence: occurrence) }
        try await server.fill(transfer)
        try await transfer.deliver(to: destination(in: path, replaces: replaces))
    }

    static func destination(in path: String, replaces: Bool) throws -> Destination {
        var destination = try Destination(checking: "\(path)/out")
        destination.replaces = replaces
        return destination
    }

    /// Whatever is left can be opened, is consistent, and leads to the right file.
    static func recover(_ folder: TemporaryFolder, of server: HonestServer = new, replaces: Bool = true) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        let damage = try await store.verify().filter { $0.kind != .orphan }
        #expect(damage.isEmpty, "\(damage)")
        let isDelivered = try await store.events().contains { $0.kind == .delivered }
        let isRenamed = Files.exists(folder["out"])
        if isRenamed { #expect(try Files.bytes(folder["out"]) == server.content) }
        if !isDelivered {
            let transfer = try await store.begin(url)
            let wasComplete = await transfer.isComplete
            #expect(try await server.fill(transfer))
            try await transfer.deliver(to: destination(in: folder.path, replaces: replaces))
            if isRenamed { #expect(wasComplete, "a file that is at its destination is not fetched again") }
        }
        #expect(try Files.bytes(folder["out"]) == server.content)
        _ = try await store.collect(maximumSize: 0)
        #expect(try folder.blobs().isEmpty)
        #expect(try Files.names(in: folder.path) == ["out", "store"], "nothing temporary is left beside the file")
        #expect(try await store.verify().isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        await store.close()
    }

    /// Kill points that other workflows pass.
    static let elsewhere: [KillPoint] = [
        .evictionCommitted, .promotionSynced, .promotionCommitted, .segmentOpened,
    ]

    @Test(
        "SIGKILL at each step of checkpoint, completion and delivery",
        arguments: KillPoint.allCases.filter { !elsewhere.contains($0) }, [1, 2])
    func killed(at point: KillPoint, occurrence: Int) async throws {
        // A single download passes most points only once.
        let repeated: [KillPoint] = [.bytesWritten, .checkpointCommitted]
        guard occurrence == 1 || repeated.contains(point) else { return }
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as KillPoint, occurrence = occurrence as Int] in
            try await KillPointTests.download(in: path, dyingAt: point, occurrence: occurrence)
        }
        let afterSeal: [KillPoint] = [.sealed, .deliveryStaged, .deliveryRenamed, .deliverySynced]
        if afterSeal.contains(point) {
            let store = try await DownloadStore.open(at: folder["store"])
            #expect(try await store.entry(for: Self.url)?.state == .complete, "no complete download is lost")
            await store.close()
        }
        try await Self.recover(folder)
    }

    @Test("SIGKILL at each step of a delivery that must not replace anything", arguments: delivery, [false, true])
    func killedBesideOthers(at point: KillPoint, isBrief: Bool) async throws {
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as KillPoint, isBrief = isBrief as Bool] in
            let server = isBrief ? KillPointTests.brief : KillPointTests.new
            try await KillPointTests.download(in: path, dyingAt: point, occurrence: 1, of: server, replaces: false)
        }
        try await Self.recover(folder, of: isBrief ? Self.brief : Self.new, replaces: false)
    }

    @Test("SIGKILL at each step of the delivery of a small download keeps what was recorded of it", arguments: delivery)
    func killedAfterRecording(at point: KillPoint) async throws {
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, point = point as KillPoint] in
            let store = try await DownloadStore.open(at: "\(path)/store")
            let transfer = try await SmallFileTests.begin(store)
            let plan = await transfer.plan()
            let content = SmallFileTests.server.content
            _ = try await transfer.receive(SmallFileTests.server.answer(plan.fields).head, to: plan)
            try await transfer.write(Array(content[..<60_000]))
            try await transfer.checkpoint()
            KillPoint.arm(point)
            try await transfer.write(Array(content[60_000...]))
            _ = try await transfer.finishBody(.whole)
            try await transfer.deliver(to: KillPointTests.destination(in: path, replaces: true))
        }
        let store = try await DownloadStore.open(at: folder["store"])
        if point != .rowRemoved {
            let transfer = try await SmallFileTests.begin(store)
            #expect(await transfer.partial.length >= 60_000)
            try await transfer.close()
        }
        await store.close()
    }

    /// Short enough not to be recorded between its last byte and its delivery, if the delivery may replace a file.
    static let brief = HonestServer(sampleBytes(300_000, seed: 9), etag: "\"v2\"")

    static let delivery: [KillPoint] = [.sealed, .deliveryStaged, .deliveryRenamed, .deliverySynced, .rowRemoved]

    @Test("SIGKILL between the collector's row and its file leaves an orphan, which the next collection removes")
    func killedInEviction() async throws {
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try await DownloadStore.open(at: "\(path)/store")
            try await store.leave(1_000_000, of: KillPointTests.old, url: KillPointTests.url)
            KillPoint.arm(.evictionCommitted)
            _ = try await store.collect(maximumSize: 0)
        }
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.entries().isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
        #expect(try await store.verify().map(\.kind) == [.orphan])
        let report = try await store.collect()
        #expect(report.orphans.count == 1 && report.orphanBytes >= 1_000_000)
        #expect(try await store.verify().isEmpty)
    }

    @Test("The workflow that is not killed gives the result expected of the killed ones")
    func unkilled() async throws {
        try await Self.download(in: folder.path, dyingAt: nil, occurrence: 1)
        try await Self.recover(folder)
    }
}
