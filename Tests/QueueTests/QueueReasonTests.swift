import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The log entries for a queue's download that was stopped.
@Suite(.timeLimit(.minutes(10)))
struct QueueReasonTests {
    /// The first event of a file after its start, which may still be to come.
    private static func second(_ name: String, _ bench: QueueBench) async throws -> Event {
        try await bench.wait(for: "\(name) has stopped") {
            (try? await bench.store.events(for: bench.key(name)).count) ?? 0 > 1
        }
        return try #require(try await bench.store.events(for: bench.key(name)).dropFirst().first)
    }

    @Test("A pause is logged as one: of one, of all, for a forced one, and on close", arguments: 0..<4)
    func paused(way: Int) async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            switch way {
            case 0: await bench.queue.pause(bench.key("a"))
            case 1: await bench.queue.pauseAll()
            case 2: _ = try await bench.ask("b", isExclusive: true).value
            default: await bench.queue.close()
            }
            let event = try await Self.second("a", bench)
            #expect(event.kind == .paused && event.reason.code.rawValue == "paused")
            #expect(event.reason.text == "paused; the partial data is kept")
            #expect(event.bytes == MediaOrigin.half)
            a.cancel()
        }
    }

    @Test("A soft cancel keeps partial data, and the log says so", arguments: [true, false])
    func cancelled(isByCaller: Bool) async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            if isByCaller { a.cancel() } else { await bench.queue.cancel(bench.key("a")) }
            #expect(await failure(of: a) != nil)
            let event = try await Self.second("a", bench)
            #expect(event.kind == .cancelled && event.reason.code.rawValue == "cancelled")
            #expect(event.reason.text.contains("is kept") && event.bytes == MediaOrigin.half)
        }
    }

    @Test("A hard cancel reports that partial data was removed, even of a paused download", arguments: [true, false])
    func removed(isPaused: Bool) async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            if isPaused { await bench.queue.pause(bench.key("a")) }
            await bench.queue.cancel(bench.key("a"), .discardingPartial)
            #expect((await failure(of: a) as? DownloadError)?.code == .cancelled)
            let events = try await bench.store.events(for: bench.key("a"))
            #expect(events.map(\.kind) == [.purged])
            #expect(events.last?.reason.code.rawValue == "cancelled-removed")
            #expect(events.last?.reason.text.contains("was removed") == true)
            #expect(events.last?.bytes == MediaOrigin.half)
        }
    }

    @Test("A failed download is logged as interrupted, with the reason")
    func interrupted() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            await bench.queue.pause(bench.key("a"))
            bench.server.setHandler { _ in .status("503 Service Unavailable") }
            await bench.queue.resume(bench.key("a"))
            #expect(await failure(of: a) is DownloadError)
            let event = try #require(try await bench.store.events(for: bench.key("a")).last)
            #expect(event.kind == .interrupted && event.reason.code.rawValue == "status-503")
            #expect(event.bytes == MediaOrigin.half)
        }
    }
}
