import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeStore
import TestSupport
import Testing

/// A queue's download that failed permanently, and what happens to it.
@Suite(.timeLimit(.minutes(10)))
struct QueueFailedTests {
    /// Adds a file that the origin does not have, and waits for the end.
    private static func fail(_ name: String, _ bench: QueueBench) async throws {
        bench.origin[name] = .missing
        try await bench.queue.add([try bench.request(name)])
        await bench.queue.waitUntilIdle()
    }

    @Test("It stays failed, with its reason, even for later processes, and is not requested again")
    func restart() async throws {
        try await QueueBench.with { bench in
            try await Self.fail("a", bench)
            try await bench.queue.add([])
            #expect(try bench.states() == ["a failed"])
            let count = bench.server.requests.count
            for _ in 0..<2 {
                try await bench.reopened { bench in
                    let item = await bench.item("a")
                    #expect(item?.state == .failed && item?.failure?.code.rawValue == "status-404")
                    #expect(item?.failure?.text.hasPrefix("the server responded with 404") == true)
                    #expect(await bench.queue.restored.map(\.key) == [item?.key])
                    try await bench.queue.resumeRestored()
                    await bench.queue.pauseAll()
                    await bench.queue.resumeAll()
                    await bench.queue.waitUntilIdle()
                    #expect(await bench.item("a")?.state == .failed)
                }
            }
            #expect(bench.server.requests.count == count)
            #expect(try bench.states() == ["a failed"])
        }
    }

    @Test("Resuming it, or another request for it, tries it again", arguments: [true, false], [true, false])
    func again(isResumed: Bool, isLater: Bool) async throws {
        try await QueueBench.with { bench in
            try await Self.fail("a", bench)
            bench.origin.release()
            if isLater {
                try await bench.reopened { try await Self.tryAgain(isResumed: isResumed, $0) }
            } else {
                try await Self.tryAgain(isResumed: isResumed, bench)
            }
            #expect(try bench.rows().isEmpty)
        }
    }

    private static func tryAgain(isResumed: Bool, _ bench: QueueBench) async throws {
        if isResumed {
            #expect(await bench.queue.resume(bench.key("a")))
        } else {
            try await bench.queue.add([try bench.request("a")])
        }
        await bench.queue.waitUntilIdle()
        #expect(try bench.isWhole("a"))
        #expect(await bench.queue.report().items.isEmpty)
    }

    @Test("Its error is no longer reported once it runs; the next failure is")
    func cleared() async throws {
        try await QueueBench.with { bench in
            try await Self.fail("a", bench)
            #expect(await bench.queue.report().description.contains("items failed: 1\n"))
            bench.origin["a"] = .stalled(after: MediaOrigin.half)
            await bench.queue.resume(bench.key("a"))
            try await bench.received("a", MediaOrigin.half)
            let item = await bench.item("a")
            #expect(item?.state == .downloading && item?.failure == nil)
            #expect(try bench.states() == ["a running"])
            await bench.queue.pause(bench.key("a"))
            bench.server.setHandler { _ in .status("410 Gone") }
            await bench.queue.resume(bench.key("a"))
            await bench.queue.waitUntilIdle()
            #expect(await bench.item("a")?.failure?.code.rawValue == "status-410")
            try await bench.queue.add([])
            #expect(try bench.states() == ["a failed"])
        }
    }

    @Test("Only a download that fails the same way again has failed permanently", arguments: [404, 403, 503, -1, -2])
    func kinds(status: Int) async throws {
        try await QueueBench.with { bench in
            var request = try bench.request("a")
            switch status {
            case -1: request = try bench.wrong("a")
            case -2: request.maximumLength = 10
            default: bench.server.setHandler { _ in .status("\(status) No") }
            }
            try await bench.queue.add([request])
            await bench.queue.waitUntilIdle()
            #expect(await bench.item("a")?.state == (status == 503 ? .paused : .failed))
            try await bench.queue.add([])
            #expect(try bench.states() == [status == 503 ? "a paused" : "a failed"])
        }
    }

    @Test("A missing destination is not a permanent failure")
    func destination() async throws {
        try await QueueBench.with { bench in
            try await bench.queue.add([try bench.request("a", to: "missing/a")])
            await bench.queue.waitUntilIdle()
            #expect(await bench.item("a")?.state == .paused)
        }
    }

    @Test("It can be cancelled, and then nothing of it is left")
    func cancelled() async throws {
        try await QueueBench.with { bench in
            try await Self.fail("a", bench)
            #expect(await !bench.queue.pause(bench.key("a")), "there is nothing to pause")
            await bench.queue.cancel(bench.key("a"))
            try await bench.queue.add([])
            #expect(try bench.rows().isEmpty)
        }
    }

    @Test("Of two destinations the one with a wrong digest has failed, and the other one has its file")
    func twoDestinations() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.wrong("a", to: "wrong"), try bench.request("a", to: "right")])
            await bench.queue.resumeAll()
            await bench.queue.waitUntilIdle()
            #expect(try bench.isWhole("a", as: "right"))
            let item = try #require(await bench.item("a"))
            #expect(item.state == .failed && item.destinations == [bench.folder["wrong"]])
            try await bench.queue.add([])
            #expect(try bench.states() == ["a failed"])
        }
    }
}
