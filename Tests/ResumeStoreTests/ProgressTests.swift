import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// What is recorded while a body is received, as seen from outside.
///
/// A killed process leaves exactly this.
///
/// No test calls `checkpoint`, `endBody` or `close` before it looks, and time passes only when a test advances its
/// clock.
@Suite(.timeLimit(.minutes(5)))
struct ProgressTests {
    @Temporary private var folder

    /// The promise of `docs/durability.md`: a killed process loses at most the bytes received within this time.
    private static let processBound: Duration = .milliseconds(250)
    /// The same for a power loss.
    private static let powerBound: Duration = .seconds(5)

    /// A store whose clock the test advances.
    private static func open(_ folder: TemporaryFolder, _ clock: ManualClock) async throws -> DownloadStore {
        var configuration = DownloadStore.Configuration()
        configuration.clock = clock.storeClock
        // Otherwise the length of the blob determines what a killed process leaves: see BlobLengthTests.
        configuration.trustsLengths = false
        return try await DownloadStore.open(at: folder["store"], configuration: configuration)
    }

    /// More than can be received without a row.
    private static let notBrief = 1_000_000

    /// Writes parts and checks what is recorded after each.
    private static func recorded(
        after parts: [Int], with clock: ManualClock = ManualClock(), in folder: TemporaryFolder,
        look: (Int, DownloadStore) async throws -> Void
    ) async throws {
        let store = try await open(folder, clock)
        let content = sampleBytes(parts.reduce(0, +) + notBrief)
        let transfer = try await store.begin()
        let plan = await transfer.plan()
        _ = try await transfer.receive(HonestServer(content).answer(plan.fields).head, to: plan)
        var position = 0
        for part in parts {
            try await transfer.write(Array(content[position..<position + part]))
            position += part
            try await look(position, store)
        }
        try await transfer.close()
        await store.close()
    }

    private static func received(_ store: DownloadStore) async throws -> Int {
        Int(try await store.entry(for: TransferTests.url)?.receivedBytes ?? 0)
    }

    @Test("At most 1 MiB is unrecorded, whatever the size of the parts", arguments: [17_000, 300_000, 9_000_000])
    func lossBound(part: Int) async throws {
        // The clock does not advance, so only the number of bytes counts.
        try await Self.recorded(after: Array(repeating: part, count: max(3_000_000 / part, 2)), in: folder) {
            let unrecorded = $0 - (try await Self.received($1))
            #expect(unrecorded <= 1 << 20)
        }
    }

    @Test("Bytes are recorded within 250 ms, even if no more are received", arguments: [1, 5000, 200_000])
    func timeBound(part: Int) async throws {
        let clock = ManualClock()
        try await Self.recorded(after: [part, part, part], with: clock, in: folder) { position, store in
            var waited = Duration.zero
            while try await Self.received(store) < position, waited < Self.processBound {
                // Once the task sleeps again, it has recorded what was due.
                try await clock.untilSomethingSleeps(within: Self.processBound)
                clock.advance(by: .milliseconds(10))
                waited += .milliseconds(10)
            }
            // The step that ended the loop may still be running.
            if try await Self.received(store) < position {
                try await clock.untilSomethingSleeps(within: Self.processBound)
            }
            let received = try await Self.received(store)
            #expect(received == position, "\(waited) after they were received")
        }
    }

    @Test("Bytes are fsynced within 5 s, even if no more are received")
    func powerTimeBound() async throws {
        let clock = ManualClock()
        try await Self.recorded(after: [200_000], with: clock, in: folder) { position, store in
            var waited = Duration.zero
            while try await Self.received(store) < position {
                try await clock.untilSomethingSleeps(within: Self.processBound)
                clock.advance(by: .milliseconds(10))
                waited += .milliseconds(10)
            }
            try await clock.untilSomethingSleeps(within: Self.powerBound)
            clock.advance(by: Self.powerBound - waited)
            // The sync that has begun by then may take any time.
            var durable: Int64 = 0
            for _ in 0..<12_000 where durable < position {
                try await Task.sleep(for: .milliseconds(5))
                durable = try await store.entry(for: TransferTests.url)?.durableBytes ?? 0
            }
            #expect(durable == Int64(position))
        }
    }

    /// The recorded bytes of a version.
    private static func received(_ store: DownloadStore, of etag: String) async throws -> Int {
        let versions = try await store.entries().filter { $0.representation?.entityTag?.rawValue == etag }
        return Int(versions.reduce(0) { $0 + $1.receivedBytes })
    }

    @Test("When a download restarts, a commit that is still due counts for the old bytes, which stay, and no others")
    func restart() async throws {
        let clock = ManualClock()
        let store = try await Self.open(folder, clock)
        let transfer = try await store.begin()
        for round in 0..<8 {
            let server = HonestServer(sampleBytes(400_000, seed: UInt64(round + 1)), etag: "\"\(round)\"")
            let plan = await transfer.plan()
            _ = try await transfer.receive(server.answer(plan.fields).head, to: plan)
            try await transfer.write(Array(server.content[..<3]))
            #expect(await transfer.partial.length == 3)
            #expect(try await Self.received(store, of: "\"\(round)\"") == 0)
            #expect(try await Self.received(store, of: "\"\(round - 1)\"") == (round > 0 ? 100_000 : 0))
            // The commit of the next bytes is due in the first rounds, and has run in the last one.
            try await clock.untilSomethingSleeps(within: Self.processBound)
            clock.advance(by: .milliseconds(round * 35))
            #expect(try await Self.received(store, of: "\"\(round)\"") <= 3)
            // 250 ms after the first bytes, the row is made by another task.
            while round == 4, try await store.entries().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            try await transfer.write(Array(server.content[3..<100_000]))
        }
        let last = HonestServer(sampleBytes(400_000, seed: 9), etag: "\"last\"")
        let plan = await transfer.plan()
        _ = try await transfer.receive(last.answer(plan.fields).head, to: plan)
        try await transfer.write(Array(last.content[..<3]))
        while try await Self.received(store, of: "\"last\"") < 3 {
            try await clock.untilSomethingSleeps(within: Self.processBound)
            clock.advance(by: .milliseconds(10))
        }
        #expect(try await Self.received(store, of: "\"last\"") == 3)
        // Of five versions, the one that was used longest ago is gone.
        #expect(try await store.entries().map(\.receivedBytes).sorted() == [3, 100_000, 100_000, 100_000])
        try await transfer.close()
        #expect(try await store.verify().isEmpty)
        await store.close()
    }

    @Test("Receiving does not wait for a database that another process writes to")
    func locked() async throws {
        let store = try await Self.open(folder, ManualClock())
        let content = sampleBytes(3_000_000)
        let transfer = try await store.begin()
        let plan = await transfer.plan()
        _ = try await transfer.receive(HonestServer(content).answer(plan.fields).head, to: plan)
        let main = transfer.main
        let other = try Connection.open(path: folder["store/store.sqlite"])
        try other.execute("BEGIN IMMEDIATE")
        // An event loop calls this. With a commit in it, it would fail after the half minute that SQLite waits.
        for start in stride(from: 0, to: 1_500_000, by: 250_000) {
            let next = start + 250_000
            let wantsMore = try main.append(content.span.bytes.extracting(start..<next))
            // What waits for a commit is bounded all the same.
            #expect(wantsMore == (next < PartLedger.unrecordedLimit))
        }
        let commit = Task { try await main.catchUp() }
        try other.execute("ROLLBACK")
        try await commit.value
        #expect(try await Self.received(store) == 1_500_000)
        try await transfer.close()
        await store.close()
    }
}
