import FaultInjection
import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// A partial moves from memory to disk, completely or not at all.
@Suite(.timeLimit(.minutes(10)))
struct PromotionTests {
    @Temporary private var folder
    static let url = "http://127.0.0.1/file.bin"
    static let new = HonestServer(sampleBytes(2_500_000, seed: 9), etag: "\"v2\"")
    static let old = HonestServer(sampleBytes(2_000_000), etag: "\"v1\"")

    /// A store in memory with a partial.
    static func memory(holding count: Int = 1_500_000) async throws -> MemoryStore {
        let store = MemoryStore()
        let transfer = try await store.open(try DownloadURL(url), headerFields: [:])
        try await new.fill(transfer, upTo: count)
        try await transfer.close()
        return store
    }

    /// Leaves an older partial on disk.
    static func leaveOld(_ count: Int, in store: DownloadStore) async throws {
        let transfer = try await store.open(try DownloadURL(url), headerFields: [:])
        try await old.fill(transfer, upTo: count)
        try await transfer.close()
    }

    @Test(
        "A moved partial survives process death and power loss, with its validator and checksums",
        arguments: [0, 700_000])
    func moved(before: Int) async throws {
        let memory = try await Self.memory()
        let disk = try await DownloadStore.open(at: folder["store"])
        if before > 0 { try await Self.leaveOld(before, in: disk) }
        #expect(try await memory.promote(Self.url, to: disk) == 1_500_000)
        #expect(memory.entries.isEmpty && memory.size == 0)
        await disk.close()

        let store = try await DownloadStore.open(at: folder["store"], creating: false)
        let entry = try #require(try await store.entry(for: Self.url))
        #expect(entry.receivedBytes == 1_500_000 && entry.durableBytes == 1_500_000)
        #expect(try await store.verify().isEmpty)
        #expect(try await store.totals() == Totals(entries: 1, receivedBytes: 1_500_000))
        #expect(try Files.names(in: folder["store/blobs"]).count == 1)
        #expect(try await store.events().last?.reason.code.rawValue == "promoted")
        let transfer = try await store.open(try DownloadURL(Self.url), headerFields: [:])
        #expect(await transfer.plan().fields[.ifRange] == "\"v2\"")
        #expect(try await Self.new.fill(transfer))
        #expect(try await transfer.takeData(upTo: 2_500_000) == Self.new.content)
        await store.close()
    }

    @Test("A complete file that waits on disk for delivery is not replaced")
    func complete() async throws {
        let disk = try await DownloadStore.open(at: folder["store"])
        let small = HonestServer(sampleBytes(100_000), etag: "\"v3\"")
        let transfer = try await disk.open(try DownloadURL(Self.url), headerFields: [:])
        try await small.fill(transfer)
        try await transfer.close()
        let memory = try await Self.memory()
        await #expect { try await memory.promote(Self.url, to: disk) } throws: {
            ($0 as? StoreError)?.code == .holdsMore
        }
        #expect(memory.entries.count == 1)
        let kept = try await disk.open(try DownloadURL(Self.url), headerFields: [:])
        #expect(try await kept.takeData(upTo: 100_000) == small.content)
        await disk.close()
    }

    @Test(
        "The bytes are synced before a row names them, which otherwise only a power loss would show",
        .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"), arguments: [0, 700_000])
    func order(before: Int) async throws {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let program = bundle.deletingLastPathComponent().appendingPathComponent("promoter").path
        let environment = try await FaultShim.environment(roots: [folder["store"]], trace: folder["trace"])
        let outcome = try await Shell.outcome(
            program, [folder["store"], "\(before)", "1500000"], environment: environment)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let calls = try FileCall.trace(folder["trace"])
        // Not the folder of the blob.
        let isBlob: (FileCall) -> Bool = { call in
            call.path.contains("/blobs/") && (call.path.split(separator: "/").last?.count ?? 0) > 2
        }
        let blob = try #require(calls.last { $0.name == "open" && isBlob($0) }?.path)
        let written = try #require(calls.last { $0.name == "pwrite" && $0.path == blob })
        let sync = try #require(calls.first { $0.name == "fdatasync" && $0.path == blob && $0.start > written.end })
        let folderSync = try #require(calls.last { $0.path.dropLast(3).hasSuffix("/blobs") && $0.name == "fsync" })
        let first = try #require(calls.first { $0.name == "pwrite" && $0.path == blob })
        let commit = try #require(
            calls.first { $0.name == "pwrite" && $0.path.hasSuffix("-wal") && $0.start > first.start })
        #expect(written.end < commit.start && sync.end < commit.start)
        #expect(folderSync.end < commit.start)
    }

    @Test("Discarded bytes are not moved")
    func rewound() async throws {
        let memory = try await Self.memory()
        let disk = try await DownloadStore.open(at: folder["store"])
        let transfer = try await memory.open(try DownloadURL(Self.url), headerFields: [:])
        try await transfer.rewind(to: 400_000, reason: Reason(code: "test", text: "Test."))
        let moved = try await transfer.promote(to: disk)
        #expect(await moved.partial.length == 400_000)
        #expect(try await disk.verify().isEmpty)
        #expect(try await Self.new.fill(moved))
        #expect(try await moved.takeData(upTo: .max) == Self.new.content)
        await disk.close()
    }

    @Test("If another process restarts the row in between, its row stays, and so do the bytes in memory")
    func superseded() async throws {
        let path = folder["store"]
        await #expect(processExitsWith: .success) { [path = path as String] in
            let memory = try await PromotionTests.memory()
            let disk = try await DownloadStore.open(at: path)
            try await PromotionTests.leaveOld(700_000, in: disk)
            let sql = "UPDATE download SET generation = 7; UPDATE chunk SET generation = 7"
            KillPoint.arm(.promotionSynced) { PromotionTests.change(path, sql) }
            await #expect(throws: StoreError(.superseded, "")) {
                try await memory.promote(PromotionTests.url, to: disk)
            }
            #expect(memory.entries.map(\.receivedBytes) == [1_500_000])
            #expect(try await disk.entry(for: PromotionTests.url)?.receivedBytes == 700_000)
        }
    }

    /// What a process does whose locks do not work.
    static func change(_ path: String, _ sql: String) {
        let connection = try? Connection.open(path: "\(path)/store.sqlite")
        if let connection { try? connection.execute(sql) }
    }

    @Test(
        "If the disk is full, nothing of the partial is left there, and the older one stays",
        .enabled(if: FaultShim.isAvailable, "needs a C compiler and Linux"))
    func fullDisk() async throws {
        let bundle = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        let program = bundle.deletingLastPathComponent().appendingPathComponent("promoter").path
        // The first blob is that of the older partial.
        let environment = try await FaultShim.environment(
            roots: [folder["store"]], rules: "pwrite@/blobs/:error=ENOSPC:8+")
        let outcome = try await Shell.outcome(
            program, [folder["store"], "700000", "1500000"], environment: environment)
        #expect(outcome.status == 1 && outcome.output.contains("No space left"), "\(outcome)")
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.entries().map(\.receivedBytes) == [700_000])
        #expect(try await store.verify().isEmpty)
        await store.close()
    }

    @Test("A byte that flips after the move is found by its checksum")
    func checksums() async throws {
        let disk = try await DownloadStore.open(at: folder["store"])
        try await (try await Self.memory()).promote(Self.url, to: disk)
        let blob = folder["store/blobs/" + (try #require(try Files.names(in: folder["store/blobs"]).first))]
        var bytes = try Files.bytes(blob)
        bytes[1_200_000] ^= 1
        try Files.write(bytes, to: blob)
        #expect(try await disk.verify().isEmpty == false)
        let transfer = try await disk.open(try DownloadURL(Self.url), headerFields: [:])
        #expect(await transfer.partial.length == 1 << 20, "what comes before the damaged block")
        #expect(try await Self.new.fill(transfer))
        #expect(try await transfer.takeData(upTo: .max) == Self.new.content)
        await disk.close()
    }

    @Test("The move is refused if the disk has more, if the entry is in use, and if nothing is stored")
    func refused() async throws {
        let memory = try await Self.memory()
        let disk = try await DownloadStore.open(at: folder["store"])
        try await Self.leaveOld(1_500_001, in: disk)
        let before = try await disk.entry(for: Self.url)
        await #expect(throws: StoreError(.holdsMore, "")) { try await memory.promote(Self.url, to: disk) }
        let entry = try await disk.entry(for: Self.url)
        #expect(entry?.chunks == before?.chunks && entry?.representation == before?.representation)

        let used = try await disk.open(try DownloadURL(Self.url), headerFields: [:])
        await #expect(throws: StoreError(.inUse, "")) { try await memory.promote(Self.url, to: disk) }
        try await used.close()
        await #expect(throws: StoreError(.noEntry, "")) { try await memory.promote("nothing", to: disk) }
        let open = try await memory.open(try DownloadURL(Self.url), headerFields: [:])
        await #expect(throws: StoreError(.inUse, "")) { try await memory.promote(Self.url, to: disk, waits: false) }
        try await open.close()
        // All the time it stayed in memory and usable.
        #expect(memory.entries.map(\.receivedBytes) == [1_500_000])
        let transfer = try await memory.open(try DownloadURL(Self.url), headerFields: [:])
        #expect(try await Self.new.fill(transfer))
        await disk.close()
    }

    @Test("A file too long for memory continues on disk, and a complete one needs no request there")
    func handedOn() async throws {
        let memory = MemoryStore(maximumEntrySize: 1_000_000)
        let disk = try await DownloadStore.open(at: folder["store"])
        let url = try DownloadURL(Self.url)
        let transfer = try await memory.open(url, headerFields: [:], key: "mine")
        var (head, _) = Self.new.answer([:])
        head.headerFields[.contentLength] = nil
        _ = try await transfer.receive(head, to: .whole(reason: nil))
        try await transfer.write(Array(Self.new.content[..<900_000]))
        await #expect(throws: StoreError(.tooLarge, "")) {
            try await transfer.write(Array(Self.new.content[900_000..<1_100_000]))
        }
        let onDisk = try await transfer.promote(to: disk)
        #expect(onDisk.key == "mine" && memory.entries.isEmpty)
        await #expect(throws: StoreError(.misuse, "")) { try await transfer.endBody(.whole) }
        #expect(await onDisk.plan().fields[.range] == "bytes=\(900_000 - 4096)-")
        #expect(try await Self.new.fill(onDisk))
        try await onDisk.deliver(to: Destination(checking: folder["out"]))
        #expect(try Files.bytes(folder["out"]) == Self.new.content)

        let whole = try await Self.memory(holding: 2_500_000)
        try await whole.promote(Self.url, to: disk)
        let complete = try await disk.open(url, headerFields: [:])
        #expect(await complete.plan() == .complete)
        #expect(try await complete.takeData(upTo: .max) == Self.new.content)
        await disk.close()
    }

    @Test(
        "SIGKILL during the move leaves on disk the old partial, or all of the new one",
        arguments: [KillPoint.blobCreated, .promotionSynced, .promotionCommitted], [0, 700_000])
    func killed(at point: KillPoint, before: Int) async throws {
        let path = folder["store"]
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, point = point as KillPoint, before = before as Int] in
            try await PromotionTests.promote(in: path, after: before, dyingAt: point)
        }
        try await Self.recover(folder, point, before: before)
    }

    static func promote(in path: String, after before: Int, dyingAt point: KillPoint) async throws {
        let memory = try await memory()
        let disk = try await DownloadStore.open(at: path)
        if before > 0 { try await leaveOld(before, in: disk) }
        KillPoint.arm(point)
        try await memory.promote(url, to: disk)
    }

    static func recover(_ folder: TemporaryFolder, _ point: KillPoint, before: Int) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        #expect(try await store.verify().filter { $0.kind != .orphan }.isEmpty)
        let transfer = try await store.open(try DownloadURL(url), headerFields: [:])
        let partial = await transfer.partial
        let isMoved = point == .promotionCommitted
        #expect(partial.length == Int64(isMoved ? 1_500_000 : before))
        let server = isMoved || before == 0 ? new : old
        #expect(try await server.fill(transfer))
        #expect(try await transfer.takeData(upTo: .max) == server.content)
        _ = try await store.collect()
        #expect(try Files.names(in: folder["store/blobs"]).isEmpty)
        #expect(try await store.verify().isEmpty)
        await store.close()
    }
}
