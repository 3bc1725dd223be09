import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// Several downloads of one key in one process.
///
/// The tests of resumectl cover several processes.
@Suite(.timeLimit(.minutes(5)))
struct SharingTests {
    static let url = "http://127.0.0.1/file.bin"

    #if os(Linux)
    @Test("A returned lease is free, even while a child that is being started still has its descriptor")
    func startingChild() async throws {
        try await DownloadStore.with { store, folder in
            let first = try await store.begin(Self.url)
            try await HonestServer(sampleBytes(10_000)).fill(first, upTo: 5000)
            // The effect of `fork`: a second descriptor of the same open file.
            let copies = try Files.names(in: "/proc/self/fd").compactMap { name -> Int32? in
                let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                return target == folder["store/leases"] ? Int32(name).map { dup($0) } : nil
            }
            defer { for copy in copies { close(copy) } }
            #expect(!copies.isEmpty)
            try await first.close()
            #expect(try await store.entry(for: Self.url)?.isInUse == false)
            try await store.open(try DownloadURL(Self.url), headerFields: [:], waits: false).close()
        }
    }
    #endif

    @Test("A caller that does not want to wait gets an error saying that the entry is in use")
    func inUse() async throws {
        try await DownloadStore.with { store, folder in
            let other = try await DownloadStore.open(at: folder["store"])
            let first = try await store.begin(Self.url)
            for store in [store, other] {
                await #expect(throws: StoreError(.inUse, "")) {
                    _ = try await store.open(try DownloadURL(Self.url), headerFields: [:], waits: false)
                }
            }
            #expect(try await other.entry(for: Self.url) == nil, "nothing was received yet")
            try await HonestServer(sampleBytes(1_000_000)).fill(first, upTo: 10)
            #expect(try await other.entry(for: Self.url)?.isInUse == true)
            await #expect(throws: StoreError(.inUse, "")) {
                _ = try await other.open(try DownloadURL(Self.url), headerFields: [:], waits: false)
            }
            try await first.close()
        }
    }

    /// Waits until the given number of tasks wait for the only entry of a store: each holds a shared lock on the
    /// entry's byte.
    ///
    /// The suite's time limit bounds the wait.
    private static func untilWaiting(_ count: Int, in folder: TemporaryFolder) async throws {
        #if os(Linux)
        let path = folder["store/waiters"]
        while try Files.names(in: "/proc/self/fd").count(where: { isWaiting($0, at: path) }) < count {
            try await Task.sleep(for: .milliseconds(2))
        }
        #else
        try await Task.sleep(for: .seconds(2))
        #endif
    }

    #if os(Linux)
    /// Whether a descriptor belongs to a file and holds a waiter's lock: a line such as `lock: 1: OFDLCK ADVISORY READ
    /// -1 08:01:1234 1 1`, where the number is that of a row or of a key.
    private static func isWaiting(_ descriptor: String, at path: String) -> Bool {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        guard target == path, let bytes = try? Files.bytes("/proc/self/fdinfo/\(descriptor)") else { return false }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains {
            $0.contains("OFDLCK") && $0.contains("READ")
        }
    }
    #endif

    @Test(
        "M08: waiting callers get a copy of the finished download; the last one gets the blob itself",
        arguments: [100_000, 1_000_000])
    func copies(length: Int) async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(length))
            let first = try await store.begin(Self.url)
            let waiting = (1...3).map { number in
                Task {
                    let transfer = try await store.begin(Self.url)
                    let isComplete = await transfer.isComplete
                    if !isComplete { try await server.fill(transfer) }
                    try await transfer.deliver(to: folder["copy\(number)"])
                    return isComplete
                }
            }
            try await Self.untilWaiting(3, in: folder)
            try await server.fill(first)
            try await first.deliver(to: folder["first"])
            for task in waiting { #expect(try await task.value, "nobody fetched it again") }
            for name in ["first", "copy1", "copy2", "copy3"] {
                #expect(try Files.bytes(folder[name]) == server.content)
                var status = stat()
                #expect(stat(folder[name], &status) == 0 && status.st_nlink == 1, "files of their own")
            }
            #expect(try await store.entries().isEmpty)
            #expect(try folder.blobs().isEmpty)
        }
    }

    @Test("A waiting caller resumes where the holder stopped; one that is cancelled leaves nothing behind")
    func takeover() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(1_000_000))
            let first = try await store.begin(Self.url)
            let cancelled = Task { try await store.begin(Self.url) }
            let next = Task { try await store.begin(Self.url) }
            try await Self.untilWaiting(2, in: folder)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { _ = try await cancelled.value }
            try await server.fill(first, upTo: 600_000)
            try await first.close()
            let transfer = try await next.value
            #expect(await transfer.partial.length == 600_000)
            #expect(try await server.deliver(transfer, to: folder["out"]))
            #expect(try await store.entries().isEmpty)
        }
    }

    @Test(
        "Delivery to another file system is a copy, and replaces a file or link of the same name",
        .enabled(if: FileManager.default.isWritableFile(atPath: "/dev/shm"), "needs a second file system"))
    func otherFileSystem() async throws {
        try await TemporaryFolder.with { folder in
            let target = "/dev/shm/resume-test-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: target) }
            try Files.write(sampleBytes(10), to: folder["precious"])
            try await Shell.run("ln", "-s", folder["precious"], target)
            let server = HonestServer(sampleBytes(1_000_000))
            let store = try await DownloadStore.open(at: folder["store"])
            #expect(try await server.deliver(store.begin(Self.url), to: target))
            #expect(try Files.bytes(folder["precious"]).count == 10, "the link was replaced, not followed")
        }
    }

    @Test("An unwritable destination is reported before anything is fetched")
    func destinations() async throws {
        try await TemporaryFolder.with { folder in
            for path in [folder.path, folder["no/such/folder/file"], "/dev/null", "/proc/file", "", folder.path + "/"] {
                #expect(throws: StoreError(.destination, ""), "\(path)") { _ = try Destination(checking: path) }
            }
            let left = try Files.names(in: folder.path)
            #expect(left.isEmpty, "the check leaves nothing behind")
        }
    }
}
