import Foundation
import HTTPTypes
import ResumeHTTP
@testable import ResumeStore
import TestSupport
import Testing

/// A process that dies during delivery leaves a second link to the blob beside its destination.
///
/// The next process to take or remove the entry also removes that link.
@Suite(.timeLimit(.minutes(10)))
struct LeftoverTests {
    static let url = "http://127.0.0.1/file.bin"
    /// A small complete file is delivered without being recorded as complete.
    static let lengths = [100_000, 1_000_000]

    static func server(_ length: Int) -> HonestServer { HonestServer(sampleBytes(length), etag: "\"v1\"") }

    static func deliver(_ length: Int, in path: String, dyingAt point: KillPoint) async throws {
        let store = try await DownloadStore.open(at: "\(path)/store")
        let destination = try Destination(checking: "\(path)/first/out")
        // A body received in one piece has no second link.
        try await store.leave(50_000, of: server(length), url: url)
        let transfer = try await store.open(
            try DownloadURL(url), headerFields: [:], destination: destination.path, waits: false)
        let plan = await transfer.plan()
        let (head, body) = server(length).answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        try await transfer.write(Array(server(length).content[body]))
        // As in the engine: a small complete file is not recorded as complete first.
        _ = try await transfer.finishBody(.whole)
        KillPoint.arm(point)
        try await transfer.deliver(to: destination)
    }

    /// A store whose owner died with the file staged in `first`, and an empty folder `second`.
    private func leftBehind(_ length: Int) async throws -> (TemporaryFolder, DownloadStore) {
        let folder = try TemporaryFolder()
        let path = folder.path
        for name in ["first", "second"] { try await Shell.run("mkdir", folder[name]) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [length = length as Int, path = path as String] in
            try await LeftoverTests.deliver(length, in: path, dyingAt: .deliveryStaged)
        }
        #expect(try Files.names(in: folder["first"]).count == 1, "it died with the file staged")
        return (folder, try await DownloadStore.open(at: folder["store"]))
    }

    @Test("Delivery elsewhere removes the leftover beside the first destination", arguments: lengths)
    func elsewhere(length: Int) async throws {
        let (folder, store) = try await leftBehind(length)
        defer { folder.remove() }
        let transfer = try await store.begin(Self.url)
        try await Self.server(length).fill(transfer)
        try await transfer.deliver(to: folder["second/out"])
        #expect(try Files.names(in: folder["first"]).isEmpty)
        #expect(try Files.bytes(folder["second/out"]) == Self.server(length).content)
    }

    @Test("A restart removes the leftover too", arguments: lengths)
    func begunAnew(length: Int) async throws {
        let (folder, store) = try await leftBehind(length)
        defer { folder.remove() }
        let transfer = try await store.begin(Self.url)
        try await transfer.discard(reason: Reason(code: "test", text: ""))
        #expect(try Files.names(in: folder["first"]).isEmpty)
        try await transfer.close()
    }

    @Test("The collector removes the leftover, whether or not anything was recorded", arguments: lengths)
    func collected(length: Int) async throws {
        let (folder, store) = try await leftBehind(length)
        defer { folder.remove() }
        _ = try await store.collect(maximumSize: 0)
        #expect(try Files.names(in: folder["first"]).isEmpty)
        #expect(try await store.entries().isEmpty)
        await store.close()
    }

    @Test("A collector that dies after removing the row has already removed the leftover")
    func collectorDies() async throws {
        let (folder, store) = try await leftBehind(1_000_000)
        defer { folder.remove() }
        await store.close()
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try await DownloadStore.open(at: "\(path)/store")
            KillPoint.arm(.evictionCommitted)
            _ = try await store.collect(maximumSize: 0)
        }
        #expect(try Files.names(in: folder["first"]).isEmpty)
    }

    @Test("The next collection removes an entry whose owner died before recording a byte, and its blob")
    func nothingRecorded() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try await DownloadStore.open(at: "\(path)/store")
            let transfer = try await store.begin(LeftoverTests.url)
            KillPoint.arm(.bytesWritten)
            try await LeftoverTests.server(1_000_000).fill(transfer)
        }
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.entries().count == 1)
        _ = try await store.collect()
        #expect(try await store.entries().isEmpty)
        #expect(try folder.blobs().isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
    }
}
