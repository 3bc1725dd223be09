import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// What a queue leaves behind, and how the next one goes on with it.
@Suite(.timeLimit(.minutes(10)))
struct QueueRestartTests {
    private static let half: Int64 = 600_000

    /// The rows of `queued`, as another program reads them.
    private func rows(_ bench: QueueBench) throws -> [String] {
        let connection = try Connection.open(path: bench.folder["store/store.sqlite"], mode: .readOnly)
        return try connection.rows(
            "SELECT key, url, destination, state, terms FROM queued ORDER BY priority DESC, position DESC"
        ) { row in (0..<5).map { row.text($0) ?? "NULL" }.joined(separator: " ") }
    }

    private func states(_ bench: QueueBench) throws -> [String] {
        try rows(bench).map { row in
            let words = row.split(separator: " ")
            return "\(words[0].split(separator: "/").last ?? "") \(words[3])"
        }
    }

    @Test("Rows follow what waits, runs and is paused; what is delivered, failed or cancelled has none")
    func rowsFollow() async throws {
        try await QueueBench.with { bench in
            for name in ["a", "p"] { bench.origin[name] = .stalled(after: Self.half) }
            bench.origin["f"] = .missing
            #expect((await failure(of: try await bench.ask("f")) as? DownloadError) != nil)
            _ = try await bench.ask("done").value
            let p = try await bench.ask("p")
            try await bench.received("p", Self.half)
            await bench.queue.pause(bench.key("p"))
            let a = try await bench.ask("a")
            try await bench.received("a", Self.half)
            try await bench.queue.add([try bench.request("b"), try bench.request("c"), try bench.request("x")])
            await bench.queue.cancel(bench.key("x"))
            try await bench.queue.add([])
            #expect(try states(bench) == ["c waiting", "b waiting", "a running", "p paused"])
            for task in [a, p] { task.cancel() }
        }
    }

    @Test("The row is there before the origin is asked")
    func rowFirst() async throws {
        try await QueueBench.with { bench in
            let path = bench.folder["store/store.sqlite"]
            let seen = Flag()
            let origin = bench.origin
            bench.server.setHandler { request in
                let connection = try? Connection.open(path: path, mode: .readOnly)
                if (try? connection?.integer("SELECT count(*) FROM queued WHERE state = 'running'")) == 1 { seen.set() }
                return origin.answer(request)
            }
            _ = try await bench.ask("a").value
            #expect(seen.isSet)
        }
    }

    @Test("A later queue lists what was left and goes on in the order that it had, by range, with all terms")
    func goesOn() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let a = try await bench.ask("a")
            try await bench.received("a", Self.half)
            var ranged = try bench.request("ranged")
            ranged.selection = try RangeSelection(parsing: "bytes=100-199")
            ranged.overlap = 17
            ranged.maximumLength = 1234
            ranged.rateLimit = 1 << 30
            try await bench.queue.add([try bench.request("b"), ranged, try bench.request("c")])
            try await bench.queue.add([try bench.request("urgent")], priority: .high)
            await bench.queue.pause(bench.key("b"))
            await bench.queue.close()
            #expect(await failure(of: a) != nil)

            bench.origin.release()
            let queue = try await DownloadQueue.open(bench.downloader, configuration: .init(maximumRunning: 1))
            let restored = await queue.restored
            #expect(
                restored.map { String($0.url.split(separator: "/").last ?? "") } == [
                    "urgent", "a", "c", "ranged", "b",
                ])
            #expect(restored.map(\.isPaused) == [false, false, false, false, true])
            #expect(restored[1].receivedBytes == Self.half && restored[1].totalBytes == MediaOrigin.length)
            #expect(restored[3].request?.selection == ranged.selection)
            #expect(restored[3].request?.overlap == 17)
            #expect(restored[3].request?.maximumLength == 1234)
            #expect(restored[3].request?.storeKey == ranged.storeKey)
            let report = await queue.report()
            #expect(report.items.map(\.state) == [.paused, .restored, .restored, .restored, .restored])
            let count = try await queue.resumeRestored()
            #expect(count == 5)
            await queue.waitUntilIdle()
            #expect(bench.asked == ["a", "urgent", "c", "ranged"])
            #expect(bench.requests(for: "a").map { $0.byteRange?.first } == [nil, Self.half - 4096])
            #expect(try Files.bytes(bench.folder["ranged"]).count == 100)
            #expect(try states(bench) == ["b paused"])
            await queue.resume(bench.key("b"))
            await queue.waitUntilIdle()
            #expect(try bench.isWhole("b"))
            #expect(try rows(bench).isEmpty)
            await queue.close()
        }
    }

    @Test("A request for what was left revives it in its place")
    func revived() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.close()
            let queue = try await DownloadQueue.open(bench.downloader)
            _ = try await queue.download(try bench.request("a"))
            #expect(try bench.isWhole("a"))
            let left = await queue.restored
            #expect(left.map(\.url) == [bench.key("b")])
            #expect(try states(bench) == ["b waiting"])
            let isKnown = await queue.cancel(bench.key("b"))
            #expect(isKnown)
            await queue.close()
            #expect(try rows(bench).isEmpty)
        }
    }

    @Test("Secrets are not kept: the program is asked for the request")
    func secrets() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            let host = bench.server.baseURL.dropFirst("http://".count)
            var signed = try bench.request("signed")
            signed.url = try DownloadURL("http://\(host)/signed?X-Amz-Signature=SECRET1")
            var named = try bench.request("named")
            named.url = try DownloadURL("http://user:SECRET2@\(host)/named")
            var field = try bench.request("field")
            field.fields[.authorization] = "Bearer SECRET3"
            var hooked = try bench.request("hooked")
            hooked.permits = { _ in true }
            try await bench.queue.add([signed, named, field, hooked, try bench.request("plain")])
            let report = await bench.queue.report().description
            await bench.queue.close()
            let texts = try rows(bench)
            #expect(texts.count == 5)
            for text in texts + [report] { #expect(!text.contains("SECRET"), "\(text)") }

            let queue = try await DownloadQueue.open(bench.downloader)
            let restored = await queue.restored
            #expect(restored.filter { $0.request != nil }.map(\.url) == [bench.key("plain")])
            let again = signed
            let count = try await queue.resumeRestored { $0.url.hasSuffix("/signed") ? again : $0.request }
            #expect(count == 2)
            await queue.waitUntilIdle()
            #expect(Set(bench.asked) == ["signed", "plain"])
            #expect(bench.requests(for: "signed").first?.target.contains("SECRET1") == true)
            let states = await queue.report().items.map(\.state)
            #expect(states == [.restored, .restored, .restored])
            let resumes = await queue.resume(bench.key("hooked"))
            #expect(!resumes, "there is no request for it")
            await #expect(throws: QueueError.self) { try await queue.resumeRestored { _ in again } }
            await queue.close()
        }
    }

    @Test("A queue's name is held by one; others have names of their own, and what is theirs")
    func names() async throws {
        try await QueueBench.with { bench in
            await #expect(throws: StoreError(.inUse, "")) { _ = try await DownloadQueue.open(bench.downloader) }
            let other = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            await other.pauseAll()
            try await other.add([try bench.request("a")])
            await other.close()
            await bench.queue.close()
            let again = try await DownloadQueue.open(bench.downloader)
            let restored = await again.restored
            #expect(restored.isEmpty)
            await again.close()
            let same = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            let left = await same.restored
            #expect(left.count == 1)
            await same.close()
        }
    }

    @Test("Two queues on one store: the second waits for the first one's download and takes a copy")
    func twoQueues() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let first = try await bench.ask("a", to: "1")
            try await bench.received("a", Self.half)
            let other = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            let waits = Flag()
            let request = try bench.request("a", to: "2")
            let second = Task {
                try await other.download(request) { if $0 == .waiting { waits.set() } }
            }
            try await bench.eventually("the second waits") { waits.isSet }
            first.cancel()
            #expect(await failure(of: first) is CancellationError)
            bench.origin.release()
            let result = try await second.value
            #expect(result.reusedBytes >= Self.half - 4096)
            #expect(try bench.isWhole("a", as: "2"))
            await other.close()
        }
    }

    @Test("Rows that nobody can read, or that were planted, are left alone or wait for the program")
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
            let restored = await queue.restored
            #expect(restored.map { $0.request == nil } == [true, false, true])
            try await queue.resumeRestored()
            await queue.waitUntilIdle()
            _ = try await queue.download(try bench.request("d"))
            #expect(bench.asked == ["c", "d"])
            await queue.close()
        }
    }

    @Test("The collector and a purge leave what is queued in the queue; it begins anew")
    func purged() async throws {
        try await QueueBench.with { bench in
            bench.origin["a"] = .stalled(after: Self.half)
            let a = try await bench.ask("a")
            try await bench.received("a", Self.half)
            await bench.queue.pause(bench.key("a"))
            try await bench.eventually("it has stopped") {
                (try? await bench.store.entries().first?.isInUse) == false
            }
            _ = try await bench.store.purge { _ in true }
            let report = try await bench.store.collect(maximumSize: 0)
            #expect(report.removed.isEmpty)
            #expect(try states(bench) == ["a paused"])
            bench.origin.release()
            await bench.queue.resume(bench.key("a"))
            let result = try await a.value
            #expect(result.reusedBytes == 0)
            #expect(try bench.isWhole("a"))
            let checks = try await bench.store.diagnose().checks
            #expect(checks.allSatisfy { $0.problem == nil || $0.name == "free_bytes" })
        }
    }

    @Test("A damaged database that is made anew keeps what can be read of the queue")
    func rebuilt() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            await bench.queue.close()
            await bench.store.close()
            // What the schema lacks is damage.
            try await Shell.run("sqlite3", bench.folder["store/store.sqlite"], "DROP TABLE event")
            let report = try await DownloadStore.rebuild(at: bench.folder["store"])
            #expect(!report.wasWhole)
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
