import HTTPTypes
import ResumeHTTP
import ResumeMaintenance
@testable import ResumeStore
import TestSupport
import Testing

/// The length of a blob counts after the death of a process, but only while one stream writes it from its first byte on,
/// since this start of the machine.
///
/// The clock stands still, so that no commit becomes due by time.
@Suite("The length of a blob", .timeLimit(.minutes(5)))
struct BlobLengthTests {
    @Temporary private var folder
    private static let server = HonestServer(sampleBytes(6_000_000))
    private static let recorded = 1_500_000
    private static let received = 4_000_000

    private static func open(_ folder: TemporaryFolder) async throws -> DownloadStore {
        var configuration = DownloadStore.Configuration()
        configuration.clock = ManualClock().storeClock
        return try await DownloadStore.open(at: folder["store"], configuration: configuration)
    }

    /// Records some bytes, calls `change`, writes more bytes, and dies; `fields` are added to the response.
    private static func die(
        _ store: DownloadStore, fields: HTTPFields = [:],
        change: (Transfer) async throws -> Void = { _ in }
    ) async throws {
        let transfer = try await store.begin()
        var plan = await transfer.plan()
        var (head, body) = server.answer(plan.fields)
        head.headerFields.append(contentsOf: fields)
        _ = try await transfer.receive(head, to: plan)
        if body.lowerBound < recorded {
            try await transfer.write(Array(server.content[body.lowerBound..<recorded]))
            body = recorded..<body.upperBound
            try await transfer.checkpoint()
        }
        try await change(transfer)
        if transfer.main.end(after: 0) == nil {
            plan = await transfer.plan()
            (head, body) = server.answer(plan.fields)
            _ = try await transfer.receive(head, to: plan)
        }
        try await transfer.write(Array(server.content[body.lowerBound..<received]))
        await transfer.letGo()
    }

    private static func held(_ folder: TemporaryFolder) async throws -> Int64 {
        let store = try await open(folder)
        let transfer = try await store.begin()
        let held = await transfer.partial.length
        try await transfer.close()
        #expect(try await store.verify().isEmpty)
        await store.close()
        return held
    }

    @Test("A process that dies loses nothing that it has written, time after time; the result is the file")
    func counts() async throws {
        let store = try await Self.open(folder)
        try await Self.die(store)
        #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == Int64(Self.recorded))
        let next = try await store.begin()
        #expect(await next.partial.length == Int64(Self.received))
        #expect(try await store.totals().receivedBytes == Int64(Self.received))
        await next.letGo()
        #expect(try await Self.held(folder) == Int64(Self.received))
        #expect(try await Self.server.deliver(store.begin(), to: folder["out"]))
        await store.close()
    }

    @Test("After a reboot, a tail that the row does not know never counts, however often the process dies afterwards")
    func oldTail() async throws {
        let store = try await Self.open(folder)
        try await Self.die(store)
        // All that was recorded is on disk, so that no byte is given up.
        try folder.sql("UPDATE download SET boot_id = 'an earlier one'; UPDATE chunk SET durable = received")
        #expect(try await Self.held(folder) == Int64(Self.recorded))
        let transfer = try await store.begin()
        let plan = await transfer.plan()
        let (head, body) = Self.server.answer(plan.fields)
        _ = try await transfer.receive(head, to: plan)
        try await transfer.write(Array(Self.server.content[body.lowerBound..<Self.recorded + 100_000]))
        await transfer.letGo()
        #expect(try await Self.held(folder) == Int64(Self.recorded))
        await store.close()
    }

    @Test("It does not count for bytes that wait for their Content-Digest")
    func digest() async throws {
        let store = try await Self.open(folder)
        let name = try #require(HTTPField.Name("Content-Digest"))
        try await Self.die(store, fields: [name: "sha-256=:\(String(repeating: "A", count: 43))=:"])
        #expect(try await Self.held(folder) < Int64(Self.received))
        #expect(try folder.integer("SELECT grows = generation FROM download") == 0)
        await store.close()
    }

    @Test("Nor for a blob of which bytes were given up")
    func rewound() async throws {
        let store = try await Self.open(folder)
        try await Self.die(store) { transfer in
            try await transfer.rewind(to: 1_000_000, reason: Reason(code: "test", text: "a test"))
        }
        #expect(try folder.integer("SELECT grows = generation FROM download") == 0)
        let held = try await Self.held(folder)
        #expect(held >= 1_000_000 && held < Int64(Self.received))
        await store.close()
    }

    @Test(
        "Nor where the blob is longer than the file, or far longer than what can wait for a commit",
        arguments: [
            "6000001", "200000000000",
        ])
    func tooLong(size: String) async throws {
        let store = try await Self.open(folder)
        try await Self.die(store)
        if size.count > 7 { try folder.sql("UPDATE download SET complete_length = NULL") }
        let blob = try folder.blob()
        try await Shell.run("truncate", "-s", size, blob)
        #expect(try await Self.held(folder) == Int64(Self.recorded))
        await store.close()
    }

    @Test("Nor where the file has another name as well")
    func shared() async throws {
        let store = try await Self.open(folder)
        try await Self.die(store)
        let blob = try folder.blob()
        try await Shell.run("ln", blob, folder["other"])
        #expect(try await Self.held(folder) == 0)
        await store.close()
    }

    @Test("Nor before the first commit, and to another caller never without a request")
    func foreign() async throws {
        let store = try await Self.open(folder)
        let first = try await store.begin()
        let plan = await first.plan()
        _ = try await first.receive(Self.server.answer(plan.fields).head, to: plan)
        try await first.write(Array(Self.server.content[..<500_000]))
        await first.letGo()
        #expect(try await store.entry(for: TransferTests.url)?.receivedBytes == 0)
        let other = try await store.open(DownloadURL(TransferTests.url), headerFields: [.authorization: "other"])
        #expect(await other.partial.isEmpty)
        #expect(await other.heldRanges.isEmpty)
        await other.letGo()
        try await Self.die(store)
        let another = try await store.open(DownloadURL(TransferTests.url), headerFields: [.authorization: "other"])
        #expect(await another.partial.length == Int64(Self.received))
        #expect(await another.heldRanges.isEmpty, "nothing may be read before the server has answered")
        await another.letGo()
        await store.close()
    }
}
