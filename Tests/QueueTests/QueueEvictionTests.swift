import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// What the collector does to downloads that a queue has paused.
@Suite(.timeLimit(.minutes(10)))
struct QueueEvictionTests {
    private static let names = ["a", "b", "c", "d", "e", "f"]
    private static let held = MediaOrigin.length * 85 / 100

    /// Six downloads paused at 85%, and another one that is not in a queue.
    private static func withPaused(_ body: (QueueBench) async throws -> Void) async throws {
        try await QueueBench.with(.init(maximumRunning: 6)) { bench in
            for name in names { bench.origin[name] = .stalled(after: held) }
            try await bench.queue.add(try names.map { try bench.request($0) })
            for name in names { try await bench.received(name, held) }
            for name in names { await bench.queue.pause(bench.key(name)) }
            try await bench.wait(for: "all have stopped") {
                (try? await bench.store.entries().contains(where: \.isInUse)) == false
            }
            let other = try await bench.store.open(try DownloadURL(bench.key("other")), headerFields: [:])
            try await HonestServer(sampleBytes(600_000)).fill(other, upTo: 500_000)
            try await other.close()
            bench.origin.release()
            try await body(bench)
        }
    }

    @Test("Paused downloads are evicted last, and report, events and log give the number of bytes")
    func evicted() async throws {
        try await Self.withPaused { bench in
            let first = try await bench.store.collect(maximumSize: 6 * Self.held, maximumAge: .seconds(-1))
            #expect(first.removed.map(\.key) == [bench.key("other")], "the only one that no queue wants")
            #expect(await bench.queue.report().items.allSatisfy { $0.evictedBytes == 0 })
            // Like a limit of 200 MB for downloads of 50 MB.
            let report = try await bench.store.collect(maximumSize: 4 * MediaOrigin.length)
            #expect(report.removed.map(\.bytes) == [Self.held, Self.held])
            #expect(report.removed.allSatisfy { $0.reason.code.rawValue == "paused-over-budget" })
            let lost = report.removed.map(\.key)
            for item in await bench.queue.report().items {
                let isLost = lost.contains(item.key)
                #expect(item.state == .paused)
                #expect(item.receivedBytes == (isLost ? 0 : Self.held))
                #expect(item.evictedBytes == (isLost ? Self.held : 0))
                #expect(item.description.contains("(\(isLost ? "0.0" : "85.0")%) paused unforced"))
                #expect(item.description.contains("removed the \(Self.held) bytes") == isLost)
            }
            let event = try #require(try await bench.store.events(for: lost[0]).last)
            #expect(event.kind == .evicted && event.bytes == Self.held)
            #expect(event.reason.text.contains("only paused downloads were left"))
            await bench.queue.resumeAll()
            await bench.queue.waitUntilIdle()
            for name in Self.names {
                #expect(try bench.isWhole(name))
                let isLost = lost.contains(bench.key(name))
                #expect(bench.requests(for: name).map { $0.byteRange != nil } == [false, !isLost])
            }
        }
    }

    @Test("A later process is notified as well, once, and so is a waiting caller when its download resumes")
    func later() async throws {
        try await Self.withPaused { bench in
            await bench.queue.close()
            _ = try await bench.store.collect(maximumSize: 5 * Self.held)
            try await bench.reopened { bench in
                let item = try #require(await bench.queue.report().items.first { $0.evictedBytes > 0 })
                #expect(item.evictedBytes == Self.held && item.receivedBytes == 0)
                let name = String(item.key.split(separator: "/").last ?? "")
                let told = Told()
                let task = try await bench.ask(name, isExclusive: true) { told.note($0) }
                _ = try await task.value
                let damages = told.all.compactMap { if case .damaged(let reason) = $0 { reason } else { nil } }
                #expect(damages.map(\.code.rawValue) == ["evicted"])
                #expect(damages.first?.text.contains("\(Self.held) bytes") == true)
                #expect(told.all.contains(.started(totalBytes: MediaOrigin.length)))
                #expect(await bench.queue.report().items.allSatisfy { $0.evictedBytes == 0 })
            }
        }
    }

    @Test("A loss is reported once, even if the download is paused again before its end")
    func once() async throws {
        try await Self.withPaused { bench in
            _ = try await bench.store.collect(maximumSize: 0)
            let (queue, key) = (bench.queue, bench.key("a"))
            bench.origin["a"] = .stalled(after: MediaOrigin.half)
            await queue.resume(key)
            try await bench.wait(for: "one half came again") {
                await bench.item("a")?.receivedBytes == MediaOrigin.half
            }
            #expect(await bench.item("a")?.evictedBytes == 0)
            await queue.pause(key)
            try await bench.wait(for: "it has stopped") { await bench.item("a")?.state == .paused }
            #expect(await bench.item("a")?.evictedBytes == 0)
            #expect(await bench.item("a")?.receivedBytes == MediaOrigin.half)
            #expect(await bench.item("b")?.evictedBytes == Self.held)
        }
    }

    @Test("A permanently failed download is evicted like any other, and the report says so")
    func failed() async throws {
        try await Self.withPaused { bench in
            bench.origin["f"] = .missing
            await bench.queue.resume(bench.key("f"))
            await bench.queue.waitUntilIdle()
            #expect(await bench.item("f")?.state == .failed)
            let report = try await bench.store.collect(maximumSize: 5 * Self.held)
            #expect(report.removed.map(\.key).contains(bench.key("f")))
            #expect(report.removed.allSatisfy { $0.reason.code.rawValue == "over-budget" })
            #expect(await bench.item("f")?.evictedBytes == Self.held)
            #expect(await bench.item("f")?.state == .failed)
        }
    }
}
