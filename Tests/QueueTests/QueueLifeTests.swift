import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// Downloads that are requested, abandoned and requested again inherit nothing from the first request.
@Suite(.timeLimit(.minutes(10)))
struct QueueLifeTests {
    private static let half: Int64 = 600_000

    @Test("A run abandoned between its last byte and its delivery does not answer a request with a digest")
    func otherDigest() async throws {
        try await QueueBench.with { bench in
            let window = Window()
            let first = try await bench.ask("a") { window.note($0) }
            try await bench.wait(for: "it is about to be delivered") { window.isReached }
            await bench.queue.cancel(bench.key("a"))
            let second = try await bench.ask(bench.wrong("a"))
            window.open()
            #expect((await failure(of: second) as? DownloadError)?.code == .digestMismatch)
            #expect((await failure(of: first) as? DownloadError)?.code == .cancelled)
        }
    }

    @Test("A download abandoned and requested again during its delivery has no row after its end")
    func rowOfFormerLife() async throws {
        try await QueueBench.with { bench in
            let window = Window()
            let first = try await bench.ask("a") { window.note($0) }
            try await bench.wait(for: "it is about to be delivered") { window.isReached }
            first.cancel()
            #expect(await failure(of: first) is CancellationError)
            try await bench.queue.add([])
            #expect(try bench.rows().isEmpty)
            let second = try await bench.ask("a")
            try await bench.queue.add([])
            #expect(try bench.rows().count == 1)
            window.open()
            _ = try await second.value
            await bench.queue.waitUntilIdle()
            try await bench.queue.add([])
            #expect(try bench.rows().isEmpty)
            #expect(try bench.isWhole("a"))
        }
    }

    @Test("A rate limit ends with the request that had it")
    func rate() async throws {
        try await QueueBench.with { bench in
            var slow = try bench.request("a", to: "1")
            slow.rateLimit = 1
            try await bench.queue.add([slow])
            try await bench.received("a", 1)
            await bench.queue.cancel(bench.key("a"))
            try await bench.queue.add([try bench.request("a", to: "1")])
            try await bench.ends { [queue = bench.queue] in await queue.waitUntilIdle() }
            #expect(try bench.isWhole("a", as: "1"))
            // One of two leaves, and its limit is removed with it.
            let task = try await bench.ask(
                {
                    var request = try bench.request("b", to: "2")
                    request.rateLimit = 1
                    return request
                }())
            try await bench.received("b", 1)
            try await bench.queue.add([try bench.request("b", to: "3")])
            task.cancel()
            try await bench.ends { [queue = bench.queue] in await queue.waitUntilIdle() }
            #expect(try bench.isWhole("b", as: "3"))
        }
    }

    @Test("A requested restart that was not made, because the download failed first, is made when it resumes")
    func restartsLater() async throws {
        try await QueueBench.with { bench in
            try await Shell.run("mkdir", bench.folder["files"])
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "files/a")
            try await bench.received("a", Self.half)
            await bench.queue.cancel(bench.key("a"))
            #expect((await failure(of: first) as? DownloadError)?.code == .cancelled)
            await bench.queue.waitUntilIdle()
            bench.origin.release()
            try await Shell.run("rmdir", bench.folder["files"])
            var request = try bench.request("a", to: "files/a")
            request.restarts = true
            try await bench.queue.add([request])
            await bench.queue.waitUntilIdle()
            #expect(await bench.item("a")?.state == .paused)
            try await Shell.run("mkdir", bench.folder["files"])
            await bench.queue.resume(bench.key("a"))
            await bench.queue.waitUntilIdle()
            #expect(bench.requests(for: "a").map { $0.byteRange != nil } == [false, false])
            #expect(try bench.isWhole("a", as: "files/a"))
        }
    }

    @Test("The digest of a cancelled request is not required of the next one")
    func digestOfFormerLife() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.wrong("a")])
            // Nothing can be recorded for a moment: the old row and its data still exist.
            let other = try Connection.open(path: bench.folder["store/store.sqlite"])
            try other.execute("BEGIN IMMEDIATE")
            let (b, a) = (try bench.request("b"), try bench.request("a"))
            let queue = bench.queue
            let tasks = [Task { try await queue.add([b]) }]
            try await bench.wait(for: "b is known") { await bench.item("b") != nil }
            try await bench.wait(for: "b is being recorded") { await queue.isRecording }
            await queue.cancel(bench.key("a"))
            let last = Task { try await queue.add([a]) }
            try await bench.wait(for: "a is known") { await bench.item("a")?.state == .waiting }
            try other.execute("COMMIT")
            for task in tasks + [last] { try await task.value }
            await queue.resumeAll()
            await queue.waitUntilIdle()
            #expect(try bench.isWhole("a") && bench.isWhole("b"))
        }
    }

    @Test("A download that resumes automatically, or is abandoned, is no longer listed as an earlier process's")
    func restoredIsCurrent() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add(try ["a", "b", "c", "d"].map { try bench.request($0) })
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader, configuration: .init(maximumRunning: 1))
            #expect(await queue.resume(bench.key("a")))
            await queue.cancel(bench.key("b"))
            // It includes the other destination.
            _ = try await queue.download(try bench.request("c", to: "other"))
            await queue.waitUntilIdle()
            #expect(await queue.restored.map(\.url) == [bench.key("d")])
            #expect(try await queue.resumeRestored() == 1)
            await queue.waitUntilIdle()
            #expect(Set(bench.asked) == ["a", "c", "d"])
            #expect(try bench.isWhole("c") && bench.isWhole("c", as: "other"))
            await queue.close()
        }
    }

    @Test("Two spellings of a name that look the same are two files")
    func spellings() async throws {
        try await QueueBench.with { bench in
            let files = ["\u{E9}", "e\u{301}"]
            await bench.queue.pauseAll()
            try await bench.queue.add(try files.map { try bench.request("a", to: $0) })
            #expect(try bench.rows().count == 2)
            await bench.queue.resumeAll()
            await bench.queue.waitUntilIdle()
            for file in files { #expect(try bench.isWhole("a", as: file)) }
        }
    }
}
