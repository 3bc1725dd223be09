import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeMaintenance
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// A queue's rows in the database, and what other programs do to them.
@Suite(.timeLimit(.minutes(10)))
struct QueueRowsTests {
    @Test("Waiting, running and paused downloads have rows; delivered, failed or cancelled ones have none")
    func rowsFollow() async throws {
        try await QueueBench.with { bench in
            bench.origin["f"] = .missing
            #expect((await failure(of: try await bench.ask("f")) as? DownloadError) != nil)
            _ = try await bench.ask("done").value
            let p = try await bench.stall("p")
            await bench.queue.pause(bench.key("p"))
            let a = try await bench.stall("a")
            try await bench.queue.add([try bench.request("b"), try bench.request("c"), try bench.request("x")])
            await bench.queue.cancel(bench.key("x"))
            try await bench.queue.add([])
            #expect(try bench.states() == ["c waiting", "b waiting", "a running", "p paused"])
            for task in [a, p] { task.cancel() }
        }
    }

    @Test("The row is recorded before the origin is asked")
    func rowFirst() async throws {
        try await QueueBench.with { bench in
            let path = bench.folder["store/store.sqlite"]
            let seen = Flag()
            let origin = bench.origin
            bench.server.setHandler { request in
                let connection = try? Connection.open(path: path)
                if (try? connection?.integer("SELECT count(*) FROM queued WHERE state = 'running'")) == 1 { seen.set() }
                return origin.answer(request)
            }
            _ = try await bench.ask("a").value
            #expect(seen.isSet)
        }
    }

    @Test("Unreadable or planted rows are left alone or wait for the program")
    func odd() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b"), try bench.request("c")])
            await bench.queue.close()
            let connection = try Connection.open(path: bench.folder["store/store.sqlite"])
            try connection.execute(
                """
                UPDATE queued SET terms = '{"selection":7}', position = 9223372036854775807 WHERE key LIKE '%/a';
                UPDATE queued SET url = 'file:///etc/passwd', priority = -9223372036854775808 WHERE key LIKE '%/b';
                """)
            let queue = try await DownloadQueue.open(bench.downloader)
            #expect(await queue.restored.map { $0.request == nil } == [true, false, true])
            try await queue.resumeRestored()
            await queue.waitUntilIdle()
            _ = try await queue.download(try bench.request("d"))
            #expect(bench.asked == ["c", "d"])
            await queue.close()
        }
    }

    @Test(
        "Terms that make no valid request wait for the program",
        arguments: [
            "'$.selection', 'bytes=9-1'", "'$.selection', 'bytes=5-9'", "'$.condition', 'none'",
            "'$.digest', json('{\"md5\":\"00\"}')", "'$.digest', json('{\"sha-256\":\"00\"}')",
            "'$.digest', json('{}')",
        ])
    func unreadable(change: String) async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.close()
            try bench.execute("UPDATE queued SET terms = json_set(terms, \(change)) WHERE key LIKE '%/a'")
            let queue = try await DownloadQueue.open(bench.downloader)
            #expect(await Set(queue.restored.filter { $0.request == nil }.map(\.url)) == [bench.key("a")])
            try await queue.resumeRestored()
            await queue.waitUntilIdle()
            #expect(bench.asked == ["b"])
            await queue.close()
        }
    }

    @Test("The collector and a purge leave queued downloads in the queue; these restart")
    func purged() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            await bench.queue.pause(bench.key("a"))
            try await bench.wait(for: "it has stopped") {
                (try? await bench.store.entries().first?.isInUse) == false
            }
            _ = try await bench.store.purge { _ in true }
            #expect(try await bench.store.collect(maximumSize: 0).removed.isEmpty)
            #expect(try bench.states() == ["a paused"])
            bench.origin.release()
            await bench.queue.resume(bench.key("a"))
            let result = try await a.value
            #expect(result.reusedBytes == 0)
            #expect(try bench.isWhole("a"))
            #expect(try await bench.store.diagnose().allSatisfy { $0.problem == nil || $0.name == "free_bytes" })
        }
    }

    @Test("A rebuilt database keeps the readable part of the queue")
    func rebuilt() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.close()
            await bench.store.close()
            // A missing part of the schema is damage.
            try await Shell.run("sqlite3", bench.folder["store/store.sqlite"], "DROP TABLE event")
            #expect(try await !DownloadStore.rebuild(at: bench.folder["store"]).wasWhole)
            let store = try await DownloadStore.open(at: bench.folder["store"])
            let queue = try await DownloadQueue.open(
                Downloader(store: store, transport: bench.transport), configuration: .init(maximumRunning: 1))
            try await queue.resumeRestored()
            await queue.waitUntilIdle()
            #expect(try bench.isWhole("a") && bench.isWhole("b"))
            #expect(bench.asked == ["b", "a"])
            await queue.close()
            await store.close()
        }
    }
}
