import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// The queue over a real origin: who gets which result, and which requests are refused.
@Suite(.timeLimit(.minutes(10)))
struct DownloadQueueTests {
    @Test("The event sequence ends with the download; a caller that leaves it cancels no other caller")
    func events() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: MediaOrigin.half)
            // Both ask before anything is received, since progress is not repeated for those that come later.
            let first = try await bench.stall("b")
            let other = try await bench.ask("a")
            let request = try bench.request("a")
            let reader = Task {
                for try await event in bench.queue.events(request) {
                    if case .progress(MediaOrigin.half, _) = event { break }
                }
            }
            try await bench.wait(for: "both ask") { await bench.item("a")?.callers == 2 }
            first.cancel()
            try await reader.value
            try await bench.wait(for: "one has left") { await bench.item("a")?.callers == 1 }
            await bench.goOn("a")
            var last: DownloadEvent?
            for try await event in bench.queue.events(try bench.request("a")) { last = event }
            guard case .finished = last else {
                Issue.record("ended with \(String(describing: last))")
                return
            }
            _ = try await other.value
        }
    }

    @Test("A task that is cancelled before its request is accepted adds nothing")
    func cancelledBefore() async throws {
        try await QueueBench.with { bench in
            let request = try bench.request("a")
            let task = Task { [queue = bench.queue] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await queue.download(request)
            }
            #expect(await failure(of: task) is CancellationError)
            #expect(await bench.queue.report().items.isEmpty)
        }
    }

    @Test("A request with another digest or coding for the same download is refused; with another key it is separate")
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
                #expect((await failure(of: task) as? DownloadError)?.code == .conflict)
            }
            await #expect(throws: DownloadError.conflict("")) {
                try await bench.queue.add([try bench.request("b"), other])
            }
            #expect(await bench.queue.report().items.map(\.url) == [bench.key("a")], "none of a batch is taken")
            second.key = "another"
            try await bench.queue.add([second])
        }
    }

    @Test("A closed queue answers all callers and accepts nothing; its requests are there when it is reopened")
    func closed() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            let b = try await bench.ask("b")
            try await bench.reopened { again in
                for task in [a, b] { #expect((await failure(of: task) as? DownloadError)?.code == .closed) }
                let late = Task { [queue = bench.queue] in try await queue.download(try bench.request("c")) }
                #expect((await failure(of: late) as? DownloadError)?.code == .closed)
                await #expect(throws: DownloadError.queueClosed) { try await bench.queue.add([try bench.request("c")]) }
                #expect(await failure(of: late) as? DownloadError == (await failure(of: a) as? DownloadError))
                #expect(await again.queue.restored.map(\.url) == [bench.key("a"), bench.key("b")])
            }
        }
    }

    @Test("The queue is not idle while a download waits behind a forced one, and is while all are paused")
    func idle() async throws {
        try await QueueBench.with { bench in
            let tasks = [try await bench.stall("a"), try await bench.stall("f", isExclusive: true)]
            let isPausing = Flag()
            let waiter = Task { [queue = bench.queue] in
                await queue.waitUntilIdle()
                return isPausing.isSet
            }
            // One is paused for the forced one: the call waits.
            try await bench.wait(for: "it waits") { await bench.queue.idleWaiters == 1 }
            #expect(await bench.names(.waiting) == ["a"])
            isPausing.set()
            await bench.queue.pauseAll()
            #expect(await waiter.value, "it waited until all were paused")
            await bench.goOn()
            for task in tasks { _ = try await task.value }
        }
    }

    @Test("Results without a waiting caller go to the queue's owner; permanent failures stay, with the reason")
    func unattended() async throws {
        let told = Outcomes()
        try await QueueBench.with(.init(onFinish: { told.note($0, $1) })) { bench in
            bench.origin["b"] = .missing
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.waitUntilIdle()
            #expect(told.keys == [bench.key("a"), bench.key("b")])
            #expect(told.failures == [bench.key("b")])
            let report = await bench.queue.report()
            #expect(report.items.map(\.state) == [.failed])
            #expect(report.items.first?.failure?.code.rawValue == "status-404")
            #expect(report.description.contains("failed unforced: the server responded with 404"))
            bench.origin.release()
            #expect(await bench.queue.resume(bench.key("b")))
            await bench.queue.waitUntilIdle()
            #expect(try bench.isWhole("b"))
            #expect(await bench.queue.report().items.isEmpty)
        }
    }

    @Test("A download that waits for its host leaves the place to one of another host")
    func hosts() async throws {
        try await QueueBench.with(.init(order: .firstInFirstOut, maximumRunning: 2, maximumPerHost: 1)) { bench in
            let first = try await bench.stall("a")
            let second = try await bench.ask("b")
            let other = bench.key("c").replacing("127.0.0.1", with: "localhost")
            var request = DownloadRequest(try DownloadURL(other), to: bench.folder["c"])
            request.stallTimeout = QueueBench.patience
            _ = try await bench.queue.download(request)
            #expect(await bench.names(.waiting) == ["b"])
            #expect(await bench.names(.downloading) == ["a"])
            #expect(bench.asked == ["a", "c"])
            await bench.goOn()
            for task in [first, second] { _ = try await task.value }
            #expect(try bench.isWhole("a") && bench.isWhole("b") && bench.isWhole("c"))
        }
    }

    @Test("A rate limit slows all downloads or one of them; when it is removed, they continue")
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

    @Test("A requested restart is made once, and not again when the download resumes")
    func restarts() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a")
            await bench.queue.cancel(bench.key("a"))
            #expect(await failure(of: first) != nil)
            await bench.queue.waitUntilIdle()
            var request = try bench.request("a")
            request.restarts = true
            try await bench.queue.add([request])
            try await bench.wait(for: "a new start") { bench.requests(for: "a").count == 2 }
            try await bench.received("a", MediaOrigin.half)
            await bench.goOn("a")
            await bench.queue.waitUntilIdle()
            #expect(bench.requests(for: "a").map { $0.byteRange != nil } == [false, false, true])
            #expect(try bench.isWhole("a"))
        }
    }
}
