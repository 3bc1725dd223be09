import OriginServer
@testable import ResumeDownload
import ResumeStore
import TestSupport
import Testing

/// The article "Not all downloads are born equal" (a media download manager), step by step, over a real origin.
@Suite(.timeLimit(.minutes(10)))
struct MediaDownloadManagerTests {
    @Test("The waiting stack: the newest request downloads first when a slot is free")
    func lastInFirstOut() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            let tasks = [try await bench.ask("b"), try await bench.ask("c"), try await bench.ask("d")]
            #expect(await bench.names(.waiting) == ["d", "c", "b"])
            a.cancel()
            for task in tasks { _ = try await task.value }
            #expect(bench.asked == ["a", "d", "c", "b"])
        }
    }

    @Test("A forced download pauses the active ones, which resume after it from the same offsets")
    func forced() async throws {
        try await QueueBench.with(.init(maximumRunning: 2)) { bench in
            let a = try await bench.stall("a")
            let b = try await bench.stall("b")
            let c = try await bench.ask("c")
            let f = try await bench.stall("f", isExclusive: true)
            let report = await bench.queue.report()
            #expect(report.maximumRunning == 1)
            #expect(report.items.map(\.isExclusive) == [true, false, false, false])
            #expect(report.items.count { $0.state == .downloading } == 1)
            #expect(await bench.names(.waiting) == ["a", "b", "c"], "what was downloading goes on first, in its order")
            await bench.goOn()
            for task in [f, a, b, c] { _ = try await task.value }
            for name in ["a", "b", "c", "f"] { #expect(try bench.isWhole(name)) }
            #expect(bench.asked == ["a", "b", "f", "c"])
            for name in ["a", "b", "f"] {
                #expect(bench.requests(for: name).map { $0.byteRange != nil } == [false, true], "\(name)")
            }
        }
    }

    @Test("There is only one forced download: a later one pauses it and clears its forced state")
    func onlyOneForced() async throws {
        try await QueueBench.with(.init(maximumRunning: 4)) { bench in
            let f = try await bench.stall("f", isExclusive: true)
            let g = try await bench.stall("g", isExclusive: true)
            #expect(await bench.queue.report().items.map(\.isExclusive) == [true, false])
            #expect(await bench.names(.waiting) == ["f"])
            for task in [f, g] { task.cancel() }
        }
    }

    @Test("Coalescing: one request, and every caller gets progress and result")
    func coalescing() async throws {
        try await QueueBench.with { bench in
            let told = [Told(), Told()]
            let first = try await bench.stall("a") { told[0].note($0) }
            let second = try await bench.ask("a") { told[1].note($0) }
            await bench.goOn("a")
            let results = [try await first.value, try await second.value]
            #expect(results[0] == results[1])
            #expect(try bench.isWhole("a"))
            #expect(bench.requests(for: "a").map { $0.byteRange?.first != nil } == [false, true])
            for told in told {
                #expect(told.all.last == .finished(results[0]))
                #expect(told.all.contains(.progress(receivedBytes: 1_200_000, totalBytes: 1_200_000)))
            }
        }
    }

    @Test("Coalescing: every caller gets the error")
    func coalescedFailure() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: MediaOrigin.half)
            bench.origin["b"] = .missing
            let a = try await bench.ask("a")
            let tasks = [try await bench.ask("b"), try await bench.ask("b")]
            a.cancel()
            for task in tasks {
                let error = await failure(of: task) as? DownloadError
                #expect(error?.status == 404)
            }
            #expect(bench.requests(for: "b").count == 1)
        }
    }

    @Test("Coalescing upgrades to forced and never downgrades")
    func upgrade() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            let b = try await bench.ask("b")
            let c = try await bench.ask("c")
            let again = try await bench.stall("b", isExclusive: true)
            let later = try await bench.ask("b")
            let report = await bench.queue.report()
            #expect(report.items.first?.url == bench.key("b"))
            #expect(report.items.first?.isExclusive == true)
            #expect(report.items.first?.callers == 3)
            let names = await (bench.names(.downloading), bench.names(.waiting))
            #expect(names.0 == ["b"])
            #expect(names.1 == ["a", "c"])
            await bench.goOn()
            for task in [a, b, c, again, later] { _ = try await task.value }
            #expect(bench.asked == ["a", "b", "c"])
        }
    }

    @Test("A running download that becomes forced continues without a pause")
    func upgradeRunning() async throws {
        try await QueueBench.with(.init(maximumRunning: 2)) { bench in
            let a = try await bench.stall("a")
            let b = try await bench.stall("b")
            let again = try await bench.ask("a", isExclusive: true)
            try await bench.wait(for: "b is paused") { await bench.names(.downloading) == ["a"] }
            #expect(bench.requests(for: "a").count == 1)
            for task in [a, b, again] { task.cancel() }
        }
    }

    @Test("Requesting a waiting download again moves it to the front")
    func movesToFront() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            let tasks = [try await bench.ask("b"), try await bench.ask("c"), try await bench.ask("b")]
            #expect(await bench.names(.waiting) == ["b", "c"])
            a.cancel()
            for task in tasks { _ = try await task.value }
            #expect(bench.asked == ["a", "b", "c"])
        }
    }

    @Test("Soft cancel: the next one starts, partial data stays with its percentage, and the next request revives it")
    func softCancel() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            let b = try await bench.ask("b")
            #expect(await bench.queue.cancel(bench.key("a")))
            #expect((await failure(of: a) as? DownloadError)?.code == .cancelled)
            _ = try await b.value
            await bench.queue.waitUntilIdle()
            let item = await bench.item("a")
            #expect(item?.state == .cancelled, "it is never started by itself")
            #expect(item?.fraction == 0.5)
            bench.origin.release()
            let revived = try await bench.ask("a").value
            #expect(revived.reusedBytes >= MediaOrigin.half - 4096)
            #expect(bench.requests(for: "a").last?.byteRange?.first == MediaOrigin.half - 4096)
            #expect(try bench.isWhole("a"))
            #expect(await bench.queue.report().items.isEmpty)
        }
    }

    @Test("Hard cancel: partial data is removed")
    func hardCancel() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            await bench.queue.cancel(bench.key("a"), .discardingPartial)
            #expect((await failure(of: a) as? DownloadError)?.code == .cancelled)
            #expect(await bench.queue.report().items.isEmpty)
            #expect(try await bench.store.entries().isEmpty)
            bench.origin.release()
            let result = try await bench.ask("a").value
            #expect(result.reusedBytes == 0)
            #expect(bench.requests(for: "a").allSatisfy { $0.byteRange == nil })
        }
    }

    @Test("A memory warning drops the suspended downloads, and nothing else")
    func memoryWarning() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            await bench.queue.cancel(bench.key("a"))
            let b = try await bench.stall("b")
            let c = try await bench.ask("c")
            await bench.queue.releaseMemory()
            #expect(await bench.queue.report().items.map(\.url) == [bench.key("b"), bench.key("c")])
            #expect(await failure(of: a) != nil)
            // On disk it stays, within the store's budget.
            bench.origin.release()
            b.cancel()
            _ = try await c.value
            let again = try await bench.ask("a").value
            #expect(again.reusedBytes > 0)
        }
    }

    @Test("The report: counts, then each item with percentage, status and whether it is forced")
    func report() async throws {
        try await QueueBench.with { bench in
            #expect(await bench.queue.report().description.hasSuffix("Items:\nEmpty\n"))
            for name in ["a", "b"] { bench.origin[name] = .stalled(after: MediaOrigin.half / 2) }
            let a = try await bench.ask("a")
            try await bench.received("a", MediaOrigin.half / 2)
            await bench.queue.cancel(bench.key("a"))
            _ = await failure(of: a)
            let c = try await bench.ask("c", isExclusive: false)
            _ = try await c.value
            let b = try await bench.ask("b", isExclusive: true)
            let d = try await bench.ask("d")
            try await bench.received("b", MediaOrigin.half / 2)
            let text = await bench.queue.report().description
            #expect(
                text == """
                    -------------------------------
                    -       Download Report       -
                    -------------------------------
                    Number of possible concurrent downloads: 1
                    Number of items downloading: 1
                    Number of items waiting for download: 1
                    Number of items cancelled for download: 1
                    Number of items paused for download: 0
                    Number of items failed: 0
                    Number of items left by an earlier process: 0

                    Items:
                    \(bench.key("b")) (25.0%) downloading forced
                    \(bench.key("d")) (0.0%) waiting unforced
                    \(bench.key("a")) (25.0%) cancelled unforced

                    """)
            for task in [b, d] { task.cancel() }
        }
    }
}
