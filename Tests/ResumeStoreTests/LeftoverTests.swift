import Foundation
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// A process that dies while it delivers leaves a second name of the blob beside its destination: whoever takes the
/// entry from it removes that, wherever it goes with the entry itself.
@Suite(.timeLimit(.minutes(10)))
struct LeftoverTests {
    static let url = "http://127.0.0.1/file.bin"
    static let server = HonestServer(sampleBytes(1_000_000), etag: "\"v1\"")

    static func deliver(in path: String, dyingAt point: Int) async throws {
        let store = try await DownloadStore.open(at: "\(path)/store")
        let transfer = try await store.begin(try DownloadURL(url))
        try await server.fill(transfer)
        if let point = KillPoint(rawValue: point) { KillPoint.arm(point) }
        try await transfer.deliver(to: Destination(checking: "\(path)/first/out"))
    }

    /// A store whose owner died with the file staged in `first`, and an empty folder `second`.
    private func leftBehind() async throws -> (TemporaryFolder, DownloadStore) {
        let folder = try TemporaryFolder()
        let path = folder.path
        for name in ["first", "second"] { try await Shell.run("mkdir", folder[name]) }
        let point = KillPoint.deliveryStaged.rawValue
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, point = point as Int] in
            try await LeftoverTests.deliver(in: path, dyingAt: point)
        }
        #expect(try Files.names(in: folder["first"]).count == 1, "it died with the file staged")
        return (folder, try await DownloadStore.open(at: folder["store"]))
    }

    @Test("Delivered elsewhere, it is gone from where it first was to be")
    func elsewhere() async throws {
        let (folder, store) = try await leftBehind()
        defer { folder.remove() }
        let transfer = try await store.begin(try DownloadURL(Self.url))
        #expect(await transfer.isComplete)
        try await transfer.deliver(to: Destination(checking: folder["second/out"]))
        #expect(try Files.names(in: folder["first"]).isEmpty)
        #expect(try Files.bytes(folder["second/out"]) == Self.server.content)
    }

    @Test("Begun anew, it is gone as well")
    func begunAnew() async throws {
        let (folder, store) = try await leftBehind()
        defer { folder.remove() }
        let transfer = try await store.begin(try DownloadURL(Self.url))
        try await transfer.discard(reason: Reason(code: .init(rawValue: "test"), text: ""))
        #expect(try Files.names(in: folder["first"]).isEmpty)
        try await transfer.close()
    }

    @Test("The collector that dies after its row has removed it before")
    func collected() async throws {
        let (folder, store) = try await leftBehind()
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

    @Test("An entry whose owner died before it recorded a byte goes with the next collection, and its blob with it")
    func nothingRecorded() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = folder.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            let store = try await DownloadStore.open(at: "\(path)/store")
            let transfer = try await store.begin(try DownloadURL(LeftoverTests.url))
            KillPoint.arm(.bytesWritten)
            try await LeftoverTests.server.fill(transfer)
        }
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.entries().count == 1)
        _ = try await store.collect()
        #expect(try await store.entries().isEmpty)
        let blobs = try Files.names(in: folder["store/blobs"])
        #expect(blobs.isEmpty)
        #expect(try await store.totals() == Totals(entries: 0, receivedBytes: 0))
    }
}
