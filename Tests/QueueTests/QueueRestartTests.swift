import HTTPTypes
import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeSQLite
import ResumeStore
import TestSupport
import Testing

/// What a queue leaves behind, and how the next one continues.
@Suite(.timeLimit(.minutes(10)))
struct QueueRestartTests {
    @Test("A later queue lists the remaining downloads and resumes in the same order, by range, with all terms")
    func goesOn() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            var ranged = try bench.request("ranged")
            ranged.selection = try RangeSelection(parsing: "bytes=100-199")
            ranged.overlap = 17
            ranged.maximumLength = 1234
            ranged.rateLimit = 1 << 30
            try await bench.queue.add([try bench.request("b"), ranged, try bench.request("c")])
            try await bench.queue.add([try bench.request("urgent")], priority: .high)
            await bench.queue.pause(bench.key("b"))
            bench.origin.release()
            try await bench.reopened(.init(maximumRunning: 1)) { bench async throws in
                #expect(await failure(of: a) != nil)
                let restored = await bench.queue.restored
                #expect(
                    restored.map { String($0.url.split(separator: "/").last ?? "") } == [
                        "urgent", "a", "c", "ranged", "b",
                    ])
                #expect(restored[3].request?.selection == ranged.selection)
                #expect(restored[3].request?.overlap == 17)
                #expect(restored[3].request?.maximumLength == 1234)
                #expect(restored[3].request?.storeKey == ranged.storeKey)
                let report = await bench.queue.report()
                #expect(report.items.map(\.state) == [.paused, .restored, .restored, .restored, .restored])
                #expect(report.items.first?.url == restored[4].url)
                let a = report.items.first { $0.url == restored[1].url }
                #expect(a?.receivedBytes == MediaOrigin.half && a?.totalBytes == MediaOrigin.length)
                #expect(try await bench.queue.resumeRestored() == 5)
                await bench.queue.waitUntilIdle()
                #expect(bench.asked == ["a", "urgent", "c", "ranged"])
                #expect(bench.requests(for: "a").map { $0.byteRange?.first } == [nil, MediaOrigin.half - 4096])
                #expect(try Files.bytes(bench.folder["ranged"]).count == 100)
                #expect(try bench.states() == ["b paused"])
                await bench.queue.resume(bench.key("b"))
                await bench.queue.waitUntilIdle()
                #expect(try bench.isWhole("b"))
                #expect(try bench.rows().isEmpty)
            }
        }
    }

    @Test("Downloads that a killed process was running resume before those that waited")
    func killed() async throws {
        try await QueueBench.with { bench in
            let a = try await bench.stall("a")
            try await bench.queue.add([try bench.request("b"), try bench.request("c")])
            // The rows as they are now: those of a process that has no time to stop anything.
            let path = bench.folder["store/store.sqlite"]
            let before = try Connection.open(path: path).rows(
                "SELECT id, state, position FROM queued"
            ) { (id: $0.integer(0) ?? 0, state: $0.text(1) ?? "", position: $0.integer(2) ?? 0) }
            #expect(before.map(\.state).sorted() == ["running", "waiting", "waiting"])
            await bench.queue.close()
            #expect(await failure(of: a) != nil)
            let connection = try Connection.open(path: path)
            for row in before {
                try connection.execute(
                    "UPDATE queued SET state = '\(row.state)', position = \(row.position) WHERE id = \(row.id)")
            }
            bench.origin.release()
            try await bench.reopened(.init(maximumRunning: 1)) { bench in
                let first = bench.server.requests.count
                try await bench.queue.resumeRestored()
                await bench.queue.waitUntilIdle()
                #expect(bench.server.requests.dropFirst(first).map(\.path) == ["/a", "/c", "/b"])
            }
        }
    }

    @Test("A request for a remaining download revives it in its place")
    func revived() async throws {
        try await QueueBench.with { bench in
            await bench.queue.pauseAll()
            try await bench.queue.add([try bench.request("a"), try bench.request("b")])
            try await bench.reopened { bench in
                _ = try await bench.queue.download(try bench.request("a"))
                #expect(try bench.isWhole("a"))
                #expect(await bench.queue.restored.map(\.url) == [bench.key("b")])
                #expect(try bench.states() == ["b waiting"])
                #expect(await bench.queue.cancel(bench.key("b")))
            }
            #expect(try bench.rows().isEmpty)
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
            field.headerFields[.authorization] = "Bearer SECRET3"
            var hooked = try bench.request("hooked")
            hooked.permits = { _ in true }
            try await bench.queue.add([signed, named, field, hooked, try bench.request("plain")])
            let report = await bench.queue.report().description
            try await bench.reopened { bench in
                let texts = try bench.rows()
                #expect(texts.count == 5)
                for text in texts + [report] { #expect(!text.contains("SECRET"), "\(text)") }
                #expect(await bench.queue.restored.filter { $0.request != nil }.map(\.url) == [bench.key("plain")])
                let again = signed
                let count = try await bench.queue.resumeRestored { $0.url.hasSuffix("/signed") ? again : $0.request }
                #expect(count == 2)
                await bench.queue.waitUntilIdle()
                #expect(Set(bench.asked) == ["signed", "plain"])
                #expect(bench.requests(for: "signed").first?.target.contains("SECRET1") == true)
                #expect(await bench.queue.report().items.map(\.state) == [.restored, .restored, .restored])
                #expect(await !bench.queue.resume(bench.key("hooked")), "there is no request for it")
                await #expect(throws: DownloadError.conflict("")) {
                    try await bench.queue.resumeRestored { _ in again }
                }
            }
        }
    }

    @Test("A queue's name is held by one queue; others have different names and separate requests")
    func names() async throws {
        try await QueueBench.with { bench in
            await #expect(throws: StoreError(.inUse, "")) { _ = try await DownloadQueue.open(bench.downloader) }
            let other = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            await other.pauseAll()
            try await other.add([try bench.request("a")])
            await other.close()
            await bench.queue.close()
            let again = try await DownloadQueue.open(bench.downloader)
            #expect(await again.restored.isEmpty)
            await again.close()
            let same = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            #expect(await same.restored.count == 1)
            await same.close()
        }
    }

    @Test("Two queues on one store: the second waits for the first one's download and takes a copy")
    func twoQueues() async throws {
        try await QueueBench.with { bench in
            let first = try await bench.stall("a", to: "1")
            let other = try await DownloadQueue.open(bench.downloader, configuration: .init(name: "other"))
            let waits = Flag()
            let request = try bench.request("a", to: "2")
            let second = Task {
                try await other.download(request) { if $0 == .waiting { waits.set() } }
            }
            try await bench.wait(for: "the second waits") { waits.isSet }
            // Before the cancellation, since the second one continues at once.
            bench.origin.release()
            first.cancel()
            #expect(await failure(of: first) is CancellationError)
            let result = try await second.value
            #expect(result.reusedBytes >= MediaOrigin.half - 4096)
            #expect(try bench.isWhole("a", as: "2"))
            await other.close()
        }
    }
}
