import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
import ResumeStore
import TestSupport
import Testing

/// Outdated plans, views and rows, and calls that come too early or too late.
@Suite(.timeLimit(.minutes(5)))
struct OutdatedTests {
    private static let server = HonestServer(sampleBytes(300_000))
    private static let reason = Reason(code: "test", text: "Test.")

    /// Runs a test on an open transfer that holds bytes of ``server``.
    private static func withHeld(
        _ count: Int, _ body: (DownloadStore, TemporaryFolder, Transfer) async throws -> Void
    ) async throws {
        try await DownloadStore.with { store, folder in
            let transfer = try await store.begin()
            try await server.fill(transfer, upTo: count)
            try await body(store, folder, transfer)
            try? await transfer.close()
        }
    }

    @Test("A response to a plan from before a rewind is refused: it would leave a gap")
    func planBeforeRewind() async throws {
        try await Self.withHeld(200_000) { _, folder, transfer in
            let plan = await transfer.plan()
            try await transfer.rewind(to: 50_000, reason: Self.reason)
            let (head, _) = Self.server.answer(plan.fields)
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.receive(head, to: plan) }
            #expect(await transfer.partial.length == 50_000)
            #expect(try await Self.server.deliver(transfer, to: folder["out"]))
        }
    }

    @Test("Nothing is written for a plan that was made before everything was discarded")
    func planBeforeDiscard() async throws {
        try await Self.withHeld(200_000) { _, folder, transfer in
            let plan = await transfer.plan()
            try await transfer.discard(reason: Self.reason)
            let (head, body) = Self.server.answer(plan.fields)
            _ = try await transfer.receive(head, to: plan)
            await #expect(throws: StoreError(.misuse, "")) {
                try await transfer.write(Array(Self.server.content[body]))
            }
            #expect(await transfer.partial.length == 0)
            #expect(try await Self.server.fill(transfer))
        }
    }

    @Test("A rewind to the beginning drops everything, and the reason is logged")
    func rewindToNothing() async throws {
        try await Self.withHeld(200_000) { store, folder, transfer in
            try await transfer.rewind(to: 0, reason: Self.reason)
            #expect(await transfer.plan() == .whole(reason: nil))
            #expect(try folder.blobs().isEmpty)
            let last = try #require(try await store.events(for: TransferTests.url).last)
            #expect(last.kind == .restarted && last.bytes == 200_000 && last.reason.code == Self.reason.code)
        }
    }

    @Test("If a rewind cannot be recorded, the data file is removed, so wrong bytes are never continued")
    func rewindWithoutStore() async throws {
        try await Self.withHeld(200_000) { store, folder, transfer in
            await store.close()
            await #expect(throws: StoreError(.misuse, "")) {
                try await transfer.rewind(to: 50_000, reason: Self.reason)
            }
            #expect(try folder.blobs().isEmpty)
            let again = try await DownloadStore.open(at: folder["store"])
            let next = try await again.begin("http://127.0.0.1/other")
            try await next.close()
            #expect(try await again.verify().map(\.kind) == [.blobMissing])
            await again.close()
        }
    }

    /// Calls that change the stored bytes.
    enum Change: CaseIterable {
        case discard, rewind, start, open

        func make(in transfer: Transfer) async throws {
            switch self {
            case .discard: try await transfer.discard(reason: reason)
            case .rewind: try await transfer.rewind(to: 50_000, reason: reason)
            case .start: try await HonestServer(sampleBytes(10), etag: "\"v2\"").fill(transfer)
            case .open:
                let continuation = try #require(
                    try await SegmentTests.continuation(250_000..<300_000, in: transfer, of: server))
                guard try await transfer.open(continuation, splitting: nil) == nil else { return }
                throw StoreError(.superseded, "no stream was opened")
            }
        }
    }

    // A new representation begins in another row.
    @Test(
        "A transfer whose row was restarted by another process does not change the row",
        arguments: Change.allCases.filter { $0 != .start })
    func superseded(change: Change) async throws {
        try await Self.withHeld(200_000) { store, folder, transfer in
            try folder.sql("UPDATE download SET generation = 1; UPDATE chunk SET generation = 1")
            await #expect(throws: StoreError(.superseded, "")) { try await change.make(in: transfer) }
            let entry = try #require(try await store.entry(for: TransferTests.url))
            #expect(entry.receivedBytes == 200_000 && entry.representation?.entityTag?.rawValue == "\"v1\"")
            #expect(Files.exists(folder["store/\(try #require(entry.chunks.first).path)"]))
        }
    }

    @Test("A view from before a rewind reads nothing; neither does a view without a blob")
    func views() async throws {
        try await Self.withHeld(200_000) { store, _, transfer in
            let view = transfer.heldView
            #expect(try transfer.readNow(0..<10, in: view.epoch) == Array(Self.server.content[..<10]))
            try await transfer.rewind(to: 50_000, reason: Self.reason)
            #expect(try transfer.readNow(0..<10, in: view.epoch) == nil)
            #expect(transfer.heldBytes(in: view.epoch) == nil)
            #expect(try await transfer.read(0..<10) == Array(Self.server.content[..<10]))
            let empty = try await store.begin("http://127.0.0.1/empty")
            await #expect(throws: StoreError(.notHeld, "")) { try await empty.read(5..<5) }
            try await empty.heldBytes.forEachBuffer(in: 0..<10) { _ in Issue.record("nothing is held") }
            try await empty.close()
        }
    }

    @Test("Bytes of an earlier session are checked against their checksums on the first read only")
    func readsOnce() async throws {
        try await DownloadStore.with { store, folder in
            let server = HonestServer(sampleBytes(10_000_000))
            try await store.leave(9_000_000, of: server)
            let transfer = try await store.begin()
            for _ in 0..<2 { #expect(try await transfer.read(100..<200) == Array(server.content[100..<200])) }
            let blob = try FileHandle(forUpdating: URL(fileURLWithPath: try folder.blob()))
            try blob.write(contentsOf: [server.content[0] ^ 1])
            try blob.close()
            #expect(try await transfer.read(100..<200) == Array(server.content[100..<200]), "compared before")
            try await transfer.close()
            let second = try await store.begin()
            await #expect(throws: StoreError(.heldBytesDiffer, "")) { try await second.read(100..<200) }
            try await second.close()
        }
    }

    @Test("A truncated data file of a complete download is an I/O error, never a short delivery")
    func cutShort() async throws {
        try await Self.withHeld(300_000) { store, folder, transfer in
            try await Shell.run("truncate", "-s", "100000", try folder.blob())
            await #expect(throws: StoreError(.io, "")) { try await transfer.takeData(upTo: .max) }
            await #expect(throws: StoreError(.io, "")) {
                try await transfer.deliver(to: folder["out"])
            }
            let bytes = await transfer.heldBytes
            #expect(throws: StoreError(.io, "")) { try bytes.forEachBuffer(in: 0..<300_000) { _ in } }
            #expect(try Files.names(in: folder.path) == ["store"])
            try await transfer.close()
            let again = try await store.begin()
            #expect(await again.partial.length < 300_000)
            #expect(try await Self.server.fill(again))
            #expect(try await again.takeData(upTo: .max) == Self.server.content)
        }
    }

    @Test("Data is taken only if it is complete and within the limit; until then it stays")
    func limits() async throws {
        try await Self.withHeld(200_000) { _, _, transfer in
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.takeData(upTo: .max) }
            try await Self.server.fill(transfer)
            await #expect(throws: StoreError(.tooLarge, "")) { try await transfer.takeData(upTo: 299_999) }
            #expect(!transfer.main.hasWholeBody && !transfer.hasAllWanted && !transfer.main.isAtSuccessor)
            #expect(try await transfer.takeData(upTo: 300_000) == Self.server.content)
        }
    }

    @Test("A released transfer returns its lease immediately, and closing it has no effect")
    func letGo() async throws {
        try await Self.withHeld(200_000) { store, _, transfer in
            await transfer.letGo()
            await transfer.letGo()
            await #expect(throws: StoreError(.misuse, "")) { try await transfer.endBody(.cut) }
            #expect(await transfer.heldRanges.isEmpty)
            let next = try await store.open(try DownloadURL(TransferTests.url), headerFields: [:], waits: false)
            try await transfer.close()
            #expect(await next.partial.length == 200_000)
            try await next.close()
        }
    }

    @Test("A closed store reports that it is closed, and so do its transfers")
    func closedStore() async throws {
        try await Self.withHeld(200_000) { store, _, transfer in
            await store.close()
            for call in [
                { _ = try await store.resumeData(for: TransferTests.url) }, { _ = try await store.entries() },
                { _ = try await store.purge { _ in true } }, { try await transfer.discard(reason: Self.reason) },
            ] as [() async throws -> Void] {
                let error = await #expect(throws: StoreError(.misuse, "")) { try await call() }
                #expect(error?.message == "the store is closed")
            }
        }
    }

    @Test("A cancelled task gets a cancellation error from each long call, not a store failure")
    func cancelled() async throws {
        try await Self.withHeld(200_000) { store, folder, transfer in
            try await transfer.close()
            try folder.sql(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
                INSERT INTO event (key, at, kind, reason, bytes) SELECT 'key', i, 'started', 'x: y', 0 FROM n;
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO download (key, url, created_at, used_at, boot_id)
                SELECT 'key' || i, 'http://127.0.0.1/', i, i, 'x' FROM n;
                """)
            for call in [
                { _ = try await store.entries() }, { _ = try await store.purge { _ in false } },
                { _ = try await store.verify() },
            ] as [@Sendable () async throws -> Void] {
                await Self.expectCancellation(call)
            }
            _ = try folder.sql("DELETE FROM download WHERE key LIKE 'key%'; DELETE FROM event")
            await Self.expectCancellation { _ = try await store.verify(keys: [TransferTests.url]) }
            #expect(try await store.verify(keys: [TransferTests.url]).isEmpty)
        }
    }

    private static func expectCancellation(_ call: @escaping @Sendable () async throws -> Void) async {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await call()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("A collection that waits for a lock can be cancelled, and leaves orphans to the next one")
    func lockedBlobs() async throws {
        try await Self.withHeld(200_000) { store, folder, transfer in
            try await transfer.close()
            try Files.write([1], to: folder["store/blobs/0123456789abcdef0123456789abcdef"])
            let held = open(folder["store/blobs"], O_RDONLY | O_DIRECTORY)
            #expect(flock(held, LOCK_SH) == 0)
            await Self.expectCancellation { _ = try await store.collect() }
            #expect(try await store.collect().orphans.isEmpty)
            close(held)
            #expect(try await store.collect().orphans == ["blobs/0123456789abcdef0123456789abcdef"])
        }
    }

    @Test("Purging an unknown key removes nothing")
    func absentKey() async throws {
        try await Self.withHeld(200_000) { store, _, transfer in
            try await transfer.close()
            let report = try await store.purge("http://127.0.0.1/absent")
            #expect(report.removed.isEmpty && report.inUse.isEmpty)
            #expect(try await store.purge(TransferTests.url).removed.map(\.bytes) == [200_000])
        }
    }
}
