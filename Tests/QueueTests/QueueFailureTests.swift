import Dispatch
import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// Which callers get a failure, and what it leaves alone.
@Suite(.timeLimit(.minutes(10)))
struct QueueFailureTests {
    private static let half: Int64 = 600_000

    @Test("A request that cannot be recorded does not affect those that are")
    func unrecorded() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let good = try await bench.ask("a", to: "good")
            try await bench.received("a", Self.half)
            // No second row, as if the disk were full.
            try bench.execute("CREATE UNIQUE INDEX refuse ON queued (queue)")
            let bad = try await bench.ask("a", to: "bad")
            #expect(await failure(of: bad) is StoreError)
            #expect(await bench.item("a")?.destinations == [bench.folder["good"]])
            bench.origin.release()
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resume(bench.key("a"))
            _ = try await good.value
            #expect(try bench.isWhole("a", as: "good"))
            try bench.execute("DROP INDEX refuse")
        }
    }

    @Test("An expired URL fails its own caller; a later caller with a fresh one gets the file")
    func expired() async throws {
        try await QueueBench.with { bench in
            let (isJoined, origin) = (Flag(), bench.origin)
            bench.server.setHandler { request in
                if request.target.contains("fresh") { return origin.answer(request) }
                return .status(isJoined.isSet ? "403 Forbidden" : "503 Service Unavailable")
            }
            let requests = try ["expired", "fresh"].map { token in
                var request = DownloadRequest(
                    try DownloadURL("\(bench.server.baseURL)/a?X-Amz-Signature=\(token)"), to: bench.folder["a"])
                request.retryPolicy = .init(
                    retries: 1_000_000, firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
                request.stallTimeout = QueueBench.patience
                return request
            }
            let first = try await bench.ask(requests[0])
            try await bench.wait(for: "it was asked for") { !bench.server.requests.isEmpty }
            let second = try await bench.ask(requests[1])
            isJoined.set()
            #expect((await failure(of: first) as? DownloadError)?.status == 403)
            _ = try await second.value
            #expect(try bench.isWhole("a"))
        }
    }

    @Test("A wrong digest of one destination does not affect another", arguments: [true, false])
    func otherDigest(isWrongFirst: Bool) async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let requests = [try bench.wrong("a", to: "wrong"), try bench.request("a", to: "right")]
            var tasks: [Task<DownloadResult, any Error>] = []
            for request in isWrongFirst ? requests : requests.reversed() { tasks.append(try await bench.ask(request)) }
            if !isWrongFirst { tasks.reverse() }
            await bench.queue.resumeAll()
            #expect((await failure(of: tasks[0]) as? DownloadError)?.code == .digestMismatch)
            _ = try await tasks[1].value
            #expect(try bench.isWhole("a", as: "right"))
            #expect(!Files.exists(bench.folder["wrong"]))
        }
    }

    @Test("A planted row does not block other rows", arguments: [true, false])
    func planted(isSupplied: Bool) async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add(try ["a", "b", "c", "d", "e"].map { try bench.request($0) })
            await bench.queue.close()
            for (name, destination) in [("a", "x"), ("b", "/a/"), ("c", ""), ("d", "//x")] {
                try bench.execute("UPDATE queued SET destination = '\(destination)' WHERE key LIKE '%/\(name)'")
            }
            let queue = try await DownloadQueue.open(bench.downloader, configuration: .init(maximumRunning: 1))
            let count =
                isSupplied
                ? try await queue.resumeRestored { DownloadRequest(try DownloadURL($0.url), to: $0.destination) }
                : try await queue.resumeRestored()
            #expect(count == 1)
            await queue.waitUntilIdle()
            #expect(bench.asked == ["e"])
            #expect(await queue.restored.count == 4)
            await queue.close()
        }
    }

    @Test("Hard cancel drops partial data, even if two destinations are requested before that")
    func hardCancelOfTwo() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let (reached, gate) = (Flag(), DispatchSemaphore(value: 0))
            let first = try await bench.ask("a", to: "1") { event in
                guard case .progress(Self.half, _) = event, !reached.isSet else { return }
                reached.set()
                gate.wait()
            }
            let second = try await bench.ask("a", to: "2")
            try await bench.wait(for: "its run cannot end") { reached.isSet }
            let (queue, key) = (bench.queue, bench.key("a"))
            let cancelling = Task { await queue.cancel(key, .discardingPartial) }
            for task in [first, second] { #expect((await failure(of: task) as? DownloadError)?.code == .cancelled) }
            let tasks = [try await bench.ask("a", to: "1"), try await bench.ask("a", to: "2")]
            #expect(await bench.item("a")?.state == .dropping)
            #expect(await !bench.queue.hasAnnouncedWaiting(for: bench.key("a")))
            bench.origin.release()
            gate.signal()
            let isKnown = await cancelling.value
            #expect(isKnown)
            for task in tasks { _ = try await task.value }
            #expect(bench.requests(for: "a").allSatisfy { $0.byteRange == nil })
            #expect(try await bench.store.entries().isEmpty)
        }
    }

    @Test("A closed queue writes no rows: another one may have them by then")
    func closed() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.close()
            let other = try await DownloadQueue.open(bench.downloader)
            let before = try bench.rows("destination || state || position")
            await bench.queue.pause(bench.key("a"))
            await bench.queue.resumeAll()
            #expect(await !bench.queue.cancel(bench.key("b")))
            await bench.queue.releaseMemory()
            await bench.queue.waitUntilIdle()
            #expect(try bench.rows("destination || state || position") == before)
            await other.close()
        }
    }

    @Test("A download paused with all the others is not waited for")
    func idleWhilePaused() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a")])
            try await bench.ends { [queue = bench.queue] in await queue.waitUntilIdle() }
        }
    }

    @Test("A limit set for one download is kept with it; a limit for an unknown one is ignored")
    func limitIsKept() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a")])
            let isKnown = await bench.queue.setRateLimit(123_456, for: bench.key("a"))
            let isOtherKnown = await bench.queue.setRateLimit(1, for: bench.key("b"))
            #expect(isKnown && !isOtherKnown)
            await bench.queue.waitUntilIdle()
            #expect(try bench.rows("terms").first?.contains("123456") == true)
        }
    }

    @Test("Waiting for the end stops when its task is cancelled")
    func idleCancelled() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let a = try await bench.ask("a")
            try await bench.received("a", Self.half)
            let isDone = Flag()
            let task = Task { [queue = bench.queue] in
                await queue.waitUntilIdle()
                isDone.set()
            }
            try await bench.wait(for: "it waits") { await bench.queue.idleWaiters == 1 }
            #expect(!isDone.isSet)
            task.cancel()
            try await bench.wait(for: "it has ended") { isDone.isSet }
            a.cancel()
        }
    }

    @Test("The report counts paused downloads and those of an earlier process separately")
    func counts() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add(try ["a", "b", "c"].map { try bench.request($0) })
            await bench.queue.pause(bench.key("a"))
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            let text = await queue.report().description
            #expect(text.contains("paused for download: 1\n"))
            #expect(text.contains("left by an earlier process: 2\n"))
            await queue.close()
        }
    }

    @Test("Two destinations of one key with different URLs: the later process has each with its own")
    func ownURLs() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let requests = try ["a", "b"].map { name in
                var request = try bench.request(name)
                request.key = "both"
                return request
            }
            try await bench.queue.add(requests)
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            let urls = await queue.restored.compactMap { $0.request?.url.redacted }
            #expect(Set(urls) == [bench.key("a"), bench.key("b")])
            await queue.close()
        }
    }

    @Test("Downloads that cannot be recorded are an error, and none of them is accepted")
    func notAdded() async throws {
        try await QueueBench.with { bench in
            // No second row, as if the disk were full.
            try bench.execute("CREATE UNIQUE INDEX refuse ON queued (queue)")
            await #expect(throws: StoreError.self) {
                try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            }
            #expect(await bench.queue.report().items.isEmpty)
            #expect(bench.asked.isEmpty)
            try bench.execute("DROP INDEX refuse")
        }
    }

    @Test(
        "A download that is paused or cancelled before its row is recorded sends no request", arguments: [false, true])
    func stoppedWhileRecorded(isCancelled: Bool) async throws {
        try await QueueBench.with { bench in
            let (queue, key) = (bench.queue, bench.key("a"))
            let other = try Connection.open(path: bench.folder["store/store.sqlite"])
            try other.execute("BEGIN IMMEDIATE")
            let request = try bench.request("a")
            let adding = Task { try await queue.add([request]) }
            try await bench.wait(for: "a is known") { await bench.item("a") != nil }
            try await bench.wait(for: "a is being recorded") { await queue.isRecording }
            if isCancelled { await queue.cancel(key) } else { await queue.pause(key) }
            try other.execute("COMMIT")
            try await adding.value
            await queue.waitUntilIdle()
            try await queue.add([])
            #expect(try bench.states() == (isCancelled ? [] : ["a paused"]))
            #expect(bench.asked.isEmpty)
            await queue.resume(key)
            await queue.waitUntilIdle()
            #expect(Files.exists(request.destination) == !isCancelled)
        }
    }

    @Test("A download that an earlier process left without its request stays if another destination fails")
    func failureBesideRestored() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let requests = try ["1", "2"].map { file in
                var request = try bench.request("a", to: file)
                request.headerFields[.authorization] = "Bearer caller"
                return request
            }
            try await bench.queue.add(requests)
            bench.origin["a"] = .missing
            try await bench.reopened { bench in
                let path = requests[0].destination
                let count = try await bench.queue.resumeRestored { $0.destination == path ? requests[0] : nil }
                #expect(count == 1)
                await bench.queue.waitUntilIdle()
                #expect(await bench.queue.restored.map(\.destination) == [requests[1].destination])
            }
        }
    }

    @Test("A queue that is closed while the program supplies requests accepts none of them")
    func closedWhileSupplied() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a")])
            try await bench.reopened { bench in
                let error = await #expect(throws: DownloadError.self) {
                    try await bench.queue.resumeRestored { download in
                        await bench.queue.close()
                        return download.request
                    }
                }
                #expect(error?.code == .closed)
            }
            #expect(try bench.rows().count == 1)
            #expect(bench.asked.isEmpty)
        }
    }

    @Test("A task that is already cancelled does not wait for the end")
    func idleAfterCancel() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            try await bench.ends { [queue = bench.queue] in
                withUnsafeCurrentTask { $0?.cancel() }
                await queue.waitUntilIdle()
            }
            #expect(await bench.item("a")?.state == .downloading)
            a.cancel()
        }
    }

    @Test("The report gives the bytes of a download without a length; an empty one is complete")
    func reportWithoutLength() async throws {
        try await QueueBench.with { bench in
            bench.server.setHandler { _ in
                let content = MediaOrigin.content("/a")
                let head = Step.head(status: "200 OK", fields: [("Transfer-Encoding", "chunked"), ("ETag", "\"a\"")])
                return Response([head, .chunked(content, 0..<MediaOrigin.half, chunkSize: 65_536), .hold])
            }
            let a = try await bench.ask("a")
            try await bench.received("a", MediaOrigin.half)
            var item = try #require(await bench.item("a"))
            #expect(item.totalBytes == nil && item.fraction == nil)
            #expect(item.description == "\(bench.key("a")) (\(MediaOrigin.half) bytes) downloading unforced")
            item.totalBytes = 0
            #expect(item.fraction == 1)
            a.cancel()
        }
    }
}
