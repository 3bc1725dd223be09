import Foundation
import HTTPTypes
import ResumeHTTP
import ResumeSQLite
@testable import ResumeStore
import TestSupport
import Testing

/// Room for downloads: for bytes that arrive, and within a binding size limit.
@Suite(.timeLimit(.minutes(5)))
struct StoreRoomTests {
    private static func key(_ name: String) -> String { "http://127.0.0.1/\(name)" }

    private static func open(_ name: String, in store: DownloadStore) async throws -> Transfer {
        try await store.begin(key(name))
    }

    private static func configuration(_ rule: EvictionRule, _ limit: Int64) -> DownloadStore.Configuration {
        var configuration = DownloadStore.Configuration(maximumSize: limit)
        configuration.eviction = rule
        return configuration
    }

    /// Opens a store in a new folder.
    private static func withStore(
        _ rule: EvictionRule, limit: Int64, _ body: (DownloadStore, TemporaryFolder) async throws -> Void
    ) async throws {
        try await DownloadStore.with(configuration(rule, limit), body)
    }

    /// Answers the transfer's request as announcing a length that never comes.
    private static func announce(_ length: Int64?, to transfer: Transfer, etag: String = "\"v1\"") async throws {
        let plan = await transfer.plan()
        var head = HTTPResponse(status: .ok)
        head.headerFields[.eTag] = etag
        head.headerFields[.contentLength] = length.map(String.init)
        _ = try await transfer.receive(head, to: plan)
    }

    @Test("E5: a length that is announced and not sent removes nothing")
    func announcement() async throws {
        for rule in [EvictionRule.leastRecentlyUsed, .stale] {
            try await Self.withStore(rule, limit: 3_000_000) { store, _ in
                for name in ["a", "b"] { try await CollectorTests.put(name, 1_000_000, into: store) }
                let transfer = try await Self.open("liar", in: store)
                try await Self.announce(2_999_999, to: transfer)
                try await transfer.write(sampleBytes(1000))
                _ = try await transfer.endBody(.cut)
                try await transfer.close()
                #expect(try await CollectorTests.names(store).contains("a"))
                #expect(try await store.totals().receivedBytes == 2_001_000)
            }
        }
    }

    @Test("The least recently used entries are removed while bytes arrive, as many as these need")
    func arrival() async throws {
        try await Self.withStore(.leastRecentlyUsed, limit: 3_000_000) { store, _ in
            for name in ["a", "b"] { try await CollectorTests.put(name, 1_000_000, into: store) }
            let transfer = try await Self.open("new", in: store)
            #expect(try await HonestServer(sampleBytes(2_000_000)).fill(transfer))
            try await transfer.close()
            #expect(try await CollectorTests.names(store).sorted() == ["b", "new"])
        }
    }

    @Test("B2: under the rule of get, only stale entries are removed, each is reported, and the limit refuses nothing")
    func stale() async throws {
        try await Self.withStore(.stale, limit: 3_000_000) { store, folder in
            for name in ["old", "job", "fresh"] { try await CollectorTests.put(name, 1_000_000, into: store) }
            try folder.sql(
                """
                UPDATE download SET used_at = used_at - 2 * 86400000 WHERE key NOT LIKE '%fresh';
                INSERT INTO queue (id, name) VALUES (77, 'resumectl');
                INSERT INTO queued (queue, key, url, destination, state, priority, forced, position, list)
                VALUES (77, '\(Self.key("job"))', '\(Self.key("job"))', '/job', 'waiting', 0, 0, 0, 5);
                """)
            let transfer = try await Self.open("new", in: store)
            #expect(try await HonestServer(sampleBytes(2_500_000)).fill(transfer))
            try await transfer.close()
            #expect(try await CollectorTests.names(store).sorted() == ["fresh", "job", "new"])
            let event = try #require(try await store.events(for: Self.key("old")).last)
            #expect(event.kind == .evicted && event.bytes == 1_000_000)
            // Seven days later the job is stale, too, and says so itself.
            try folder.sql("UPDATE download SET used_at = used_at - 6 * 86400000 WHERE key LIKE '%job'")
            _ = try await store.collect()
            #expect(try await CollectorTests.names(store).sorted() == ["fresh", "new"])
            let connection = try Connection.open(path: "\(store.path)/store.sqlite")
            let failure = try connection.first("SELECT failure FROM queued") { $0.text(0) }
            #expect(failure?.contains("its 1000000 bytes were removed") == true)
        }
    }

    @Test("An older entry of the same request and download is removed first, even if it was used last")
    func superseded() async throws {
        try await Self.withStore(.stale, limit: 10_000_000) { store, folder in
            try await CollectorTests.put("a", 1_000_000, into: store)
            try await CollectorTests.put("b", 1_000_000, into: store)
            try folder.sql(
                """
                UPDATE download SET key = '\(Self.key("a"))#variant=2', variant = 2,
                    requester = (SELECT requester FROM download WHERE key = '\(Self.key("a"))')
                WHERE key = '\(Self.key("b"))'
                """)
            let report = try await store.collect(maximumSize: 1_500_000)
            #expect(report.removed.map(\.key) == [Self.key("a")])
            #expect(report.removed.map(\.reason.code.rawValue) == ["outdated-over-budget"])
            #expect(try await store.collect(maximumSize: 0).removed.isEmpty)
        }
    }

    @Test("Under a binding limit, what does not fit is refused before a byte of it is written")
    func refused() async throws {
        try await Self.withStore(.staleWithinLimit, limit: 3_000_000) { store, _ in
            // Announced are twice as many.
            let unlimited = try await DownloadStore.open(at: store.path)
            try await CollectorTests.put("a", 2_000_000, into: unlimited)
            await unlimited.close()
            let cases: [(Int64, StoreError.Code)] = [(1_500_000, .overLimit), (3_500_000, .noSpace)]
            for (length, code) in cases {
                let transfer = try await Self.open("new", in: store)
                let error = await #expect(throws: StoreError.self) { try await Self.announce(length, to: transfer) }
                #expect(error?.code == code && error?.message.contains("may hold only 3000000 bytes") == true)
                try await transfer.close()
            }
            #expect(try await CollectorTests.names(store) == ["a"])
            let transfer = try await Self.open("new", in: store)
            #expect(try await HonestServer(sampleBytes(1_000_000)).fill(transfer))
            try await transfer.close()
        }
    }

    @Test("Under a binding limit, downloads begin as soon as their announced rests fit together, in order")
    func turns() async throws {
        try await Self.withStore(.staleWithinLimit, limit: 3_000_000) { store, _ in
            let first = try await Self.open("first", in: store)
            try await Self.announce(2_000_000, to: first)
            let (begun, begin) = AsyncStream.makeStream(of: String.self)
            let waiting = try await Self.open("waiting", in: store)
            let late = Task {
                defer { begin.finish() }
                try await Self.announce(1_500_000, to: waiting)
                begin.yield("waiting")
            }
            // The first one goes on although another one waits.
            try await first.write(sampleBytes(1_000_000))
            begin.yield("first")
            _ = try await first.endBody(.cut)
            // Its rest is not announced any more, but its bytes stay.
            try await first.close()
            var order = begun.makeAsyncIterator()
            #expect(await order.next() == "first")
            #expect(await order.next() == "waiting")
            try await late.value
            try await waiting.write(sampleBytes(1_500_000))
            try await waiting.close()
        }
    }

    @Test("A download that waits to try again leaves its room to one that has its place")
    func leaving() async throws {
        try await Self.withStore(.staleWithinLimit, limit: 3_000_000) { store, _ in
            let first = try await Self.open("first", in: store)
            try await Self.announce(2_000_000, to: first)
            try await first.write(sampleBytes(1_000_000))
            _ = try await first.endBody(.cut)
            await first.leaveRoom()
            let other = try await Self.open("other", in: store)
            try await Self.announce(1_500_000, to: other)
            try await other.close()
            try await first.close()
        }
    }

    @Test("A binding limit holds while a body without a length grows, and what was received is kept")
    func growth() async throws {
        try await Self.withStore(.staleWithinLimit, limit: 8_000_000) { store, _ in
            try await CollectorTests.put("a", 2_000_000, into: store)
            let transfer = try await Self.open("endless", in: store)
            try await Self.announce(nil, to: transfer)
            let error = await #expect(throws: StoreError.self) {
                for _ in 0..<200 { try await transfer.write(sampleBytes(100_000)) }
            }
            #expect(error?.code == .overLimit)
            try await transfer.close()
            let held = try await store.totals().receivedBytes
            #expect(held <= 8_000_000 && held > 6_000_000)
            #expect(try await store.entry(for: Self.key("endless"))?.receivedBytes == held - 2_000_000)
        }
    }

    @Test("A binding limit holds between the stores of two processes")
    func processes() async throws {
        try await Self.withStore(.staleWithinLimit, limit: 8_000_000) { store, folder in
            let other = try await DownloadStore.open(
                at: folder["store"], configuration: Self.configuration(.staleWithinLimit, 8_000_000))
            let transfers = [try await Self.open("a", in: store), try await Self.open("b", in: other)]
            for transfer in transfers { try await Self.announce(nil, to: transfer) }
            var refused: Set<Int> = []
            for _ in 0..<100 {
                for (number, transfer) in transfers.enumerated() where !refused.contains(number) {
                    do {
                        try await transfer.write(sampleBytes(100_000))
                    } catch let error as StoreError where error.code == .overLimit {
                        refused.insert(number)
                    }
                }
            }
            #expect(refused.count == 2)
            for transfer in transfers { try await transfer.close() }
            #expect(try await store.totals().receivedBytes <= 8_000_000)
            await other.close()
        }
    }

    @Test("E18: what a control file of aria2 claims of a hole is not copied")
    func holes() async throws {
        try await Self.withStore(.leastRecentlyUsed, limit: 1 << 40) { store, folder in
            let path = folder["disk.img"]
            try Files.write(sampleBytes(1_000_000), to: path)
            try await Shell.run("truncate", "-s", "2G", path)
            let pieces = [UInt8](repeating: 0xFF, count: 256)
            try Files.write(ControlFileTests.aria2(pieces, total: 2 << 30, piece: 1 << 20), to: "\(path).aria2")
            let foreign = try ForeignPartial(examining: path)
            #expect(foreign.heldBytes <= 1_100_000 && foreign.heldBytes > 900_000)
            #expect(foreign.totalBytes == 2 << 30)
        }
    }
}
