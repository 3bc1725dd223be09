import Foundation
import OriginServer
import ResumeAsyncHTTP
import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Apple's article "Pausing and Resuming Downloads", step by step, with this package's means.
@Suite(.timeLimit(.minutes(10)))
struct ApplePausingAndResumingTests {
    private static let held: Int64 = 60_000

    /// A task that was cancelled when a part of the file had come.
    private static func cancelled(_ desk: Desk, _ configure: (inout DownloadRequest) -> Void = { _ in }) async throws
        -> ResumeData?
    {
        let task = desk.downloader.task(try desk.request(configure))
        await task.resume(untilReceived: held)
        let data = await task.cancelProducingResumeData()
        #expect(task.state == .completed)
        return data
    }

    @Test("Listing 1: cancelling gives resume data, small, and with the store idle")
    func cancelling() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let data = try #require(try await Self.cancelled(desk))
            #expect(data.receivedBytes == Self.held && data.totalBytes == 100_000)
            #expect(data.entityTag == "\"a\"")
            #expect(data.bytes.count < 1024)
            let entry = try #require(try await desk.origin.store.entries().first)
            #expect(!entry.isInUse && entry.receivedBytes == Self.held)
            #expect(!Files.exists(desk.output))
        }
    }

    @Test("Listing 1: no data where nothing came, where it is done, and where it cannot be gone on with")
    func nothingToResume() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let unstarted = desk.downloader.task(try desk.request())
            #expect(await unstarted.cancelProducingResumeData() == nil)
            await #expect(throws: CancellationError.self) { try await unstarted.value }
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let done = desk.downloader.task(try desk.request())
            done.resume()
            _ = try await done.value
            #expect(await done.cancelProducingResumeData() == nil)
            #expect(try desk.origin.hasDelivered(.old))
        }
        for etag in [nil, "W/\"weak\""] {
            let resource = Resource(Resource.old.content, etag: etag)
            try await Desk.with(resource.stalling(at: Self.held)) { desk in
                let data = try await Self.cancelled(desk)
                #expect(data == nil)
            }
        }
        var resource = Resource.old
        resource.acceptRanges = "none"
        try await Desk.with(resource.stalling(at: Self.held)) { desk in
            let data = try await Self.cancelled(desk)
            #expect(data == nil)
        }
    }

    @Test("Listing 2: a failure has resume data, and says whether it can be resumed")
    func failing() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: Self.held) }) { origin in
            let error = try #require(await origin.failure { $0.limits.retries = 0 })
            #expect(error.code == .unreachable && error.isResumable)
            #expect(error.resumeData?.receivedBytes == Self.held)
            origin.server.setHandler { _ in .status("403 Forbidden") }
            let refused = await origin.failure()
            #expect(refused?.isResumable == true, "with other credentials it can")
        }
        let plain = Resource(Resource.old.content)
        try await Origin.with({ .file(plain, for: $0, cutAfter: Self.held) }) { origin in
            let error = try #require(await origin.failure { $0.limits.retries = 0 })
            #expect(!error.isResumable && error.resumeData == nil)
        }
        try await Origin.with({ _ in .status("404 Not Found") }) { origin in
            let error = try #require(await origin.failure())
            #expect(!error.isResumable && error.resumeData == nil)
        }
    }

    @Test("Listing 2: a call that is cancelled has its resume data in the store")
    func cancelledCall() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let request = try desk.request()
            let call = Task {
                for try await event in desk.downloader.events(request) {
                    if case .progress(Self.held, _) = event { return }
                }
            }
            try await call.value
            #expect(try await desk.idleEntry()?.receivedBytes == Self.held)
            // Also in a task that is cancelled, which is where it is asked for.
            let asking = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await desk.downloader.resumeData(for: request)
            }
            #expect(try await asking.value?.receivedBytes == Self.held)
            #expect(try await desk.origin.store.resumeData(for: request.url.redacted)?.totalBytes == 100_000)
            #expect(try await desk.origin.store.resumeData(for: "another") == nil)
        }
    }

    @Test("Listing 3: a task from resume data begins suspended, and goes on; an event says where")
    func resuming() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let data = try #require(try await Self.cancelled(desk))
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let task = desk.downloader.task(resuming: data, to: desk.output)
            #expect(task.state == .suspended)
            #expect(desk.origin.server.requests.count == 1)
            task.resume()
            let result = try await task.value
            #expect(result.reusedBytes == Self.held)
            #expect(try desk.origin.hasDelivered(.old))
            let request = try #require(desk.origin.requests(after: 1).first)
            #expect(request.field("Range") == "bytes=55904-" && request.field("If-Range") == "\"a\"")
            let events = await task.rest()
            #expect(events.contains(.resumed(offset: Self.held, totalBytes: 100_000)))
            #expect(events.restarts.isEmpty)
            #expect(events.last == .finished(result))
        }
    }

    @Test("Suspending ends the request and keeps what came; resuming goes on; both as often as one likes")
    func suspending() async throws {
        try await Desk.with(Resource.old.stalling(at: 20_000)) { desk in
            let task = desk.downloader.task(try desk.request())
            for _ in 0..<3 {
                let before = desk.origin.server.requests.count
                task.resume()
                task.resume()
                while desk.origin.server.requests.count == before { try await Task.sleep(for: .milliseconds(5)) }
                task.suspend()
                task.suspend()
                try await task.reaches(.suspended)
                #expect(try await desk.origin.store.entries().first?.isInUse != true)
            }
            // Suspended and resumed at once: it does not matter how far the interruption has come.
            task.resume()
            task.suspend()
            desk.origin.server.setHandler { .file(.old, for: $0) }
            task.resume()
            _ = try await task.value
            #expect(task.state == .completed)
            #expect(try desk.origin.hasDelivered(.old))
            #expect(await task.rest().restarts.isEmpty)
        }
    }

    @Test("A task that is to begin anew does so once, not after each pause")
    func suspendingARestart() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            _ = try await Self.cancelled(desk)
            let task = desk.downloader.task(try desk.request { $0.restarts = true })
            await task.resume(untilReceived: Self.held)
            task.suspend()
            try await task.reaches(.suspended)
            desk.origin.server.setHandler { .file(.old, for: $0) }
            task.resume()
            #expect(try await task.value.reusedBytes == Self.held)
            #expect(desk.origin.server.requests.map { $0.field("Range") ?? "all" } == ["all", "all", "bytes=55904-"])
        }
    }

    @Test("What was suspended and evicted meanwhile begins anew, with the reason")
    func evictedWhileSuspended() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let task = desk.downloader.task(try desk.request())
            await task.resume(untilReceived: Self.held)
            task.suspend()
            try await task.reaches(.suspended)
            #expect(try await desk.origin.store.collect(maximumSize: 0).removed.count == 1)
            desk.origin.server.setHandler { .file(.old, for: $0) }
            task.resume()
            #expect(try await task.value.reusedBytes == 0)
            #expect(try await desk.origin.reasons().contains("partial-gone"))
            #expect(try desk.origin.hasDelivered(.old))
        }
    }

    @Test("Resume data is good after a restart, in another process, with the store at another place")
    func moved() async throws {
        try await TemporaryFolder.with { folder in
            try await OriginServer.withServer(handler: { .file(.old, for: $0, cutAfter: Self.held) }) { server in
                let store = try await DownloadStore.open(at: folder["store"])
                var failure: DownloadError?
                do {
                    _ = try await Engine.get(server.baseURL + "/file", to: folder["out"], store: store) {
                        $0.limits.retries = 0
                    }
                } catch let error as DownloadError {
                    failure = error
                }
                await store.close()
                let kept = try #require(failure?.resumeData).bytes
                #expect(!String(decoding: kept, as: UTF8.self).contains(folder.path), "it has no path of the store")
                try FileManager.default.createDirectory(atPath: folder["elsewhere"], withIntermediateDirectories: true)
                try FileManager.default.moveItem(atPath: folder["store"], toPath: folder["elsewhere/moved"])
                server.setHandler { .file(.old, for: $0) }
                await Self.expectGoingOn(kept, in: folder.path)
                #expect(try Files.bytes(folder["out"]) == Resource.old.bytes)
                #expect(server.requests.map { $0.field("Range") ?? "all" } == ["all", "bytes=55904-"])
            }
        }
    }

    /// Another process goes on with what was kept.
    private static func expectGoingOn(_ kept: [UInt8], in folder: String) async {
        await #expect(processExitsWith: .success) { [kept = kept as [UInt8], folder = folder as String] in
            let data = try ResumeData(kept)
            let store = try await DownloadStore.open(at: folder + "/elsewhere/moved", creating: false)
            let transport = AsyncHTTPTransport(.init(connectTimeout: 5, threads: 1))
            let task = Downloader(store: store, transport: transport).task(resuming: data, to: folder + "/out")
            task.resume()
            let reused = try await task.value.reusedBytes
            try await transport.shutdown()
            await store.close()
            #expect(reused == data.receivedBytes)
        }
    }

    @Test("Data whose bytes are gone begins anew, with an event and a reason: evicted, delivered, another store")
    func gone() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let data = try #require(try await Self.cancelled(desk))
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let url = try DownloadURL(desk.origin.url)
            _ = try await desk.origin.store.purge { $0.key == url.redacted }
            // The first time what was held was removed, the second time it has been delivered.
            for _ in 0..<2 {
                let task = desk.downloader.task(resuming: data, to: desk.output)
                task.resume()
                #expect(try await task.value.reusedBytes == 0)
                let events = await task.rest()
                #expect(events.outdated == ["partial-gone"] && events.restarts.isEmpty)
                #expect(try desk.origin.hasDelivered(.old))
            }
            #expect(try await desk.origin.reasons().contains("partial-gone"), "it can be read later")
        }
    }

    @Test("Where the store holds another version by now, that one is gone on with, and an event says so")
    func overtaken() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let data = try #require(try await Self.cancelled(desk))
            desk.origin.server.setHandler(Resource.new.stalling(at: 70_000))
            _ = try await Self.cancelled(desk)
            desk.origin.server.setHandler { .file(.new, for: $0) }
            let task = desk.downloader.task(resuming: data, to: desk.output)
            task.resume()
            #expect(try await task.value.reusedBytes > 0)
            let events = await task.rest()
            #expect(events.outdated == ["other-representation-held"])
            #expect(events.restarts.isEmpty, "it goes on with what is held")
            var meter = ProgressMeter()
            let told = events.reduce(Int64(0)) { $0 + (meter.step(for: $1)?.bytes ?? 0) }
            #expect(told + events.offsets[0] == Int64(Resource.new.bytes.count), "what was held is no progress")
            #expect(events.offsets.count == 1)
            #expect(try desk.origin.hasDelivered(.new))
        }
    }

    @Test("A signed URL is not in the data: a fresh one goes on; without one what is held stays")
    func signed() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let signed = try DownloadURL(desk.origin.url.replacing("//", with: "//me:secret@") + "?X-Amz-Signature=1")
            let data = try #require(try await Self.cancelled(desk) { $0.url = signed })
            let text = String(decoding: data.bytes, as: UTF8.self)
            #expect(!text.contains("Signature") && !text.contains("secret"))
            desk.origin.server.setHandler { request in
                request.target.hasSuffix("?X-Amz-Signature=2") ? .file(.old, for: request) : .status("403 Forbidden")
            }
            let unsigned = desk.downloader.task(resuming: data, to: desk.output)
            unsigned.resume()
            let error = await #expect(throws: DownloadError.self) { try await unsigned.value }
            #expect(error?.status == 403)
            #expect(error?.resumeData == data, "as good as before")
            let fresh = try DownloadURL(desk.origin.url + "?X-Amz-Signature=2")
            let task = desk.downloader.task(resuming: data, to: desk.output, at: fresh)
            task.resume()
            #expect(try await task.value.reusedBytes == Self.held)
            #expect(try desk.origin.hasDelivered(.old))
        }
    }

    @Test("A key of the caller's own and ranges go along")
    func keyAndRanges() async throws {
        try await Desk.with(Resource.old.stalling(at: 30_000)) { desk in
            let ranges = try RangeSelection(parsing: "bytes=10000-59999,90000-")
            let task = desk.downloader.task(
                try desk.request {
                    $0.key = "mine"
                    $0.selection = ranges
                })
            await task.resume(untilReceived: 30_000)
            let data = try #require(await task.cancelProducingResumeData())
            #expect(data.key == "mine" && data.selection == ranges)
            #expect(data.totalBytes == 60_000)
            let again = try ResumeData(data.bytes)
            #expect(again == data)
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let rest = desk.downloader.task(resuming: again, to: desk.output)
            rest.resume()
            #expect(try await rest.value.reusedBytes == 30_000)
            let expected =
                Resource.old.content.bytes(in: 10_000..<60_000) + Resource.old.content.bytes(in: 90_000..<100_000)
            #expect(try Files.bytes(desk.output) == expected)
        }
    }

    @Test("Cancelling who waits for the value cancels the download, running or suspended, and keeps what came")
    func cancelledWaiter() async throws {
        try await Desk.with(Resource.old.stalling(at: Self.held)) { desk in
            let suspended = desk.downloader.task(try desk.request())
            let running = desk.downloader.task(try desk.request())
            await running.resume(untilReceived: Self.held)
            for task in [suspended, running] {
                let waiter = Task { try await task.value }
                waiter.cancel()
                await #expect(throws: CancellationError.self) { try await waiter.value }
                #expect(task.state == .completed)
            }
            #expect(try await desk.idleEntry()?.receivedBytes == Self.held)
        }
    }
}
