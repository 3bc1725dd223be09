import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// What is recorded while a body comes, seen from outside: that is what a process leaves behind when it is killed.
@Suite(.timeLimit(.minutes(5)))
struct ProgressTests {
    /// Writes parts and looks at what is recorded after each; nobody calls `checkpoint`, `endBody` or `close`.
    private static func recorded(
        after parts: [Int], in folder: TemporaryFolder, look: (Int, DownloadStore) async throws -> Void
    ) async throws {
        let store = try await DownloadStore.open(at: folder["store"])
        let content = sampleBytes(parts.reduce(0, +) + 1)
        let transfer = try await TransferTests.begin(store)
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
        Int(try await store.entry(key: TransferTests.url)?.receivedBytes ?? 0)
    }

    @Test("At most 1 MiB is not recorded, whatever the size of the parts", arguments: [17_000, 300_000, 9_000_000])
    func lossBound(part: Int) async throws {
        try await TemporaryFolder.with { folder in
            try await Self.recorded(after: Array(repeating: part, count: max(3_000_000 / part, 2)), in: folder) {
                let unrecorded = $0 - (try await Self.received($1))
                #expect(unrecorded <= 1 << 20)
            }
        }
    }

    @Test("What came last is recorded also when nothing comes any more")
    func idle() async throws {
        try await TemporaryFolder.with { folder in
            try await Self.recorded(after: [1000, 200_000, 5000], in: folder) { position, store in
                // Bounded by the suite's time limit.
                while try await Self.received(store) < position { try await Task.sleep(for: .milliseconds(5)) }
            }
        }
    }

    @Test("A commit beside a restart does not bring the old bytes back")
    func restart() async throws {
        try await TemporaryFolder.with { folder in
            let store = try await DownloadStore.open(at: folder["store"])
            let transfer = try await TransferTests.begin(store)
            for round in 0..<8 {
                let server = HonestServer(sampleBytes(400_000, seed: UInt64(round + 1)), etag: "\"\(round)\"")
                // Its last commit is still to come when the next round begins anew.
                try await server.fill(transfer, upTo: 300_000, piece: 30_000)
                let plan = await transfer.plan()
                let next = HonestServer(sampleBytes(400_000, seed: UInt64(round + 2)), etag: "\"\(round + 1)\"")
                _ = try await transfer.receive(next.answer(plan.fields).head, to: plan)
                try await transfer.write(Array(next.content[..<3]))
                #expect(await transfer.partial.length == 3)
                try await Task.sleep(for: .milliseconds(round * 5))
                #expect(try await Self.received(store) <= 3)
            }
            try await transfer.close()
            #expect(try await store.verify().isEmpty)
            await store.close()
        }
    }
}
