import Dispatch
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The queue over a real origin: who gets what, and what is refused.
@Suite(.timeLimit(.minutes(10)))
struct DownloadQueueTests {
    private static let half: Int64 = 600_000

    @Test("Two destinations of one resource: each has its file, and the origin is asked once")
    func destinations() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "1")
            try await bench.received("a", Self.half)
            let told = Told()
            let tasks = [
                try await bench.ask("a", to: "2") { told.note($0) }, try await bench.ask("a", to: "3"),
            ]
            bench.origin.release()
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resume(bench.key("a"))
            for task in [first] + tasks { _ = try await task.value }
            let ends = told.all.compactMap { if case .finished(let result) = $0 { result.path } else { nil } }
            #expect(ends == [bench.folder["2"]], "progress of the download, and the end of the own file")
            #expect(told.all.contains { if case .resumed = $0 { true } else { false } })
            for file in ["1", "2", "3"] { #expect(try bench.isWhole("a", as: file)) }
            #expect(bench.requests(for: "a").map { $0.byteRange?.first } == [nil, Self.half - 4096])
            let entries = try await bench.store.entries()
            #expect(entries.isEmpty, "nothing is left in the store")
            // Files of their own: writing to one does not change another.
            try Files.write([1], to: bench.folder["1"])
            #expect(try bench.isWhole("a", as: "2"))
        }
    }

    @Test("A destination asked for while the other one is written gets its copy, too")
    func lateDestination() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "1")
            try await bench.received("a", Self.half)
            bench.origin.release()
            let second = try await bench.ask("a", to: "2")
            await bench.queue.setMaximumRunning(2)
            let b = try await bench.ask("b", isForced: true)
            for task in [b, first, second] { _ = try await task.value }
            #expect(bench.requests(for: "a").count == 2, "one of them for the rest")
            #expect(try bench.isWhole("a", as: "1") && bench.isWhole("a", as: "2"))
        }
    }

    @Test("Cancelling one caller leaves the others alone, of the same destination and of another one")
    func oneLeaves() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "1")
            try await bench.received("a", Self.half)
            let same = try await bench.ask("a", to: "1")
            let other = try await bench.ask("a", to: "2")
            first.cancel()
            #expect(await failure(of: first) is CancellationError)
            bench.origin.release()
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resume(bench.key("a"))
            for task in [same, other] { _ = try await task.value }
            #expect(try bench.isWhole("a", as: "1") && bench.isWhole("a", as: "2"))
        }
    }

    @Test("A destination whose last caller left is not written")
    func destinationLeft() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "1")
            try await bench.received("a", Self.half)
            let other = try await bench.ask("a", to: "2")
            bench.origin.release()
            first.cancel()
            _ = try await other.value
            #expect(!Files.exists(bench.folder["1"]))
            #expect(try bench.isWhole("a", as: "2"))
            #expect(bench.requests(for: "a").map { $0.byteRange != nil } == [false, true])
            let entries = try await bench.store.entries()
            #expect(entries.isEmpty)
        }
    }

    @Test("Nothing is left in the store for a destination whose caller left before its turn")
    func nothingLeft() async throws {
        try await QueueBench.with { bench in
            let (reached, gate) = (Flag(), DispatchSemaphore(value: 0))
            // Progress is told on the transfer's own thread, which the delivery waits for.
            let first = try await bench.ask("a", to: "1") { event in
                if case .progress = event, !reached.isSet {
                    reached.set()
                    gate.wait()
                }
            }
            try await bench.eventually("it has begun") { reached.isSet }
            let second = try await bench.ask("a", to: "2")
            // Time for the store to know that somebody waits; without it the test proves less.
            try await Task.sleep(for: .milliseconds(200))
            second.cancel()
            #expect(await failure(of: second) is CancellationError)
            try await bench.queue.add([])
            gate.signal()
            _ = try await first.value
            let entries = try await bench.store.entries()
            #expect(entries.isEmpty)
            #expect(!Files.exists(bench.folder["2"]))
        }
    }

    @Test("A destination that cannot be written fails its own callers only")
    func badDestination() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let bad = try await bench.ask("a", to: "missing/1")
            let good = try await bench.ask("a", to: "2")
            await bench.queue.resumeAll()
            _ = try await good.value
            #expect((await failure(of: bad) as? StoreError)?.code == .destination)
            #expect(try bench.isWhole("a", as: "2"))
        }
    }

    @Test("Events: the sequence ends with the end; who leaves it takes nobody else out")
    func events() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let other = try await bench.ask("a")
            for try await event in bench.queue.events(try bench.request("a")) {
                if case .progress(Self.half, _) = event { break }
                if await bench.item("a")?.callers == 2, bench.requests(for: "a").count == 1 { break }
            }
            try await bench.eventually("one has left") { await bench.item("a")?.callers == 1 }
            bench.origin.release()
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resume(bench.key("a"))
            var last: DownloadEvent?
            for try await event in bench.queue.events(try bench.request("a")) { last = event }
            guard case .finished = last else {
                Issue.record("ended with \(String(describing: last))")
                return
            }
            _ = try await other.value
        }
    }

    @Test("A task that is cancelled before its request is taken adds nothing")
    func cancelledBefore() async throws {
        try await QueueBench.with { bench in
            let request = try bench.request("a")
            let task = Task { [queue = bench.queue] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await queue.download(request)
            }
            #expect(await failure(of: task) is CancellationError)
            let items = await bench.queue.report().items
            #expect(items.isEmpty)
        }
    }

    @Test("A request with another digest or coding for the same download is refused; another key makes it another one")
    func conflicts() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            var first = try bench.request("a")
            first.digest = HTTPDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32))
            try await bench.queue.add([first])
            var second = first
            second.digest = HTTPDigest(.sha256, bytes: [UInt8](repeating: 2, count: 32))
            let other = second
            let coded: DownloadRequest = {
                var coded = first
                coded.acceptEncoding = "gzip"
                return coded
            }()
            for request in [other, coded] {
                let task = Task { [queue = bench.queue] in try await queue.download(request) }
                #expect((await failure(of: task) as? QueueError)?.code == .conflict)
            }
            await #expect(throws: QueueError.self) { try await bench.queue.add([try bench.request("b"), other]) }
            let items = await bench.queue.report().items
            #expect(items.map(\.url) == [bench.key("a")], "none of a batch is taken")
            second.key = "another"
            try await bench.queue.add([second])
        }
    }

    @Test("A digest that is not checked by the run under way is not promised to whom comes later")
    func lateDigest() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a")
            try await bench.received("a", Self.half)
            var second = try bench.request("a")
            second.digest = HTTPDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32))
            let request = second
            let task = Task { [queue = bench.queue] in try await queue.download(request) }
            #expect((await failure(of: task) as? QueueError)?.code == .conflict)
            first.cancel()
        }
    }

    @Test("A closed queue answers everybody and takes nothing; what it had to do is there when it is opened again")
    func closed() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let a = try await bench.ask("a")
            try await bench.received("a", Self.half)
            let b = try await bench.ask("b")
            await bench.queue.close()
            for task in [a, b] { #expect((await failure(of: task) as? QueueError)?.code == .closed) }
            let late = Task { [queue = bench.queue] in try await queue.download(try bench.request("c")) }
            #expect((await failure(of: late) as? QueueError)?.code == .closed)
            await #expect(throws: QueueError.self) { try await bench.queue.add([try bench.request("c")]) }
            let again = try await DownloadQueue.open(bench.downloader)
            let restored = await again.restored
            #expect(restored.map(\.url) == [bench.key("a"), bench.key("b")])
            await again.close()
        }
    }

    @Test("What nobody waits for is told to the queue's owner; what failed stays, paused, with its reason")
    func unattended() async throws {
        let told = Outcomes()
        try await QueueBench.with(.init(onFinish: { told.note($0, $1) })) { bench in
            bench.origin["b"] = .missing
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.waitUntilIdle()
            #expect(told.keys == [bench.key("a"), bench.key("b")])
            #expect(told.failures == [bench.key("b")])
            let report = await bench.queue.report()
            #expect(report.items.map(\.state) == [.paused])
            #expect(report.items.first?.failure?.code.rawValue == "status-404")
            #expect(report.description.contains("paused unforced: The server answered 404"))
            bench.origin.release()
            let resumes = await bench.queue.resume(bench.key("b"))
            #expect(resumes)
            await bench.queue.waitUntilIdle()
            #expect(try bench.isWhole("b"))
            let items = await bench.queue.report().items
            #expect(items.isEmpty)
        }
    }

    @Test("A limit on the rate holds downloads back, of all and of one; taken away, they go on")
    func rates() async throws {
        for isOfAll in [true, false] {
            try await QueueBench.with(.init(maximumRunning: 2, rateLimit: isOfAll ? 1 : nil)) { bench in
                var request = try bench.request("a")
                if !isOfAll { request.rateLimit = 1 }
                try await bench.queue.add([request])
                try await bench.received("a", 1)
                if !isOfAll { _ = try await bench.ask("b").value }
                let item = await bench.item("a")
                #expect((item?.fraction ?? 1) < 1, "one part came, and the next one would come in hours")
                if isOfAll {
                    await bench.queue.setRateLimit(nil)
                } else {
                    await bench.queue.setRateLimit(nil, for: bench.key("a"))
                }
                await bench.queue.waitUntilIdle()
                #expect(try bench.isWhole("a"))
            }
        }
    }

    @Test("A new start that was asked for is made once, and not again when the download goes on")
    func restarts() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a")
            try await bench.received("a", Self.half)
            await bench.queue.cancel(bench.key("a"))
            #expect(await failure(of: first) != nil)
            await bench.queue.waitUntilIdle()
            var request = try bench.request("a")
            request.restarts = true
            try await bench.queue.add([request])
            try await bench.eventually("a new start") { bench.requests(for: "a").count == 2 }
            try await bench.received("a", Self.half)
            bench.origin.release()
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resume(bench.key("a"))
            await bench.queue.waitUntilIdle()
            #expect(bench.requests(for: "a").map { $0.byteRange != nil } == [false, false, true])
            #expect(try bench.isWhole("a"))
        }
    }
}
