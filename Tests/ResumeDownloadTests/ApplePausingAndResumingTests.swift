import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import Scenarios
import TestSupport
import Testing

/// Apple's article "Pausing and Resuming Downloads", step by step, with the API of this package.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct ApplePausingAndResumingTests {
    @Test("Listing 1: cancelling returns resume data; it is small, and the store is idle")
    func cancelling() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let data = try #require(try await desk.cancelled())
            #expect(data.receivedBytes == Desk.held && data.totalBytes == 100_000)
            #expect(data.entityTag == "\"a\"")
            #expect(data.bytes.count < 1024)
            let entry = try #require(try await desk.origin.store.entries().first)
            #expect(!entry.isInUse && entry.receivedBytes == Desk.held)
            #expect(!Files.exists(desk.output))
        }
    }

    @Test("Listing 1: no resume data without received bytes, after completion or if resuming is impossible")
    func nothingToResume() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let unstarted = desk.downloader.makeTask(try desk.request())
            #expect(await unstarted.cancelByProducingResumeData() == nil)
            await #expect(throws: CancellationError.self) { try await unstarted.value }
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let done = desk.downloader.makeTask(try desk.request())
            done.resume()
            _ = try await done.value
            #expect(await done.cancelByProducingResumeData() == nil)
            #expect(try desk.origin.hasDelivered(.old))
        }
        for etag in [nil, "W/\"weak\""] {
            let resource = Resource(Resource.old.content, etag: etag)
            try await Desk.with(resource.stalling(at: Desk.held)) { desk async throws in
                #expect(try await desk.cancelled() == nil)
            }
        }
        // Some servers that deny ranges have them: a range is requested all the same.
        var resource = Resource.old
        resource.acceptRanges = "none"
        try await Desk.with(resource.stalling(at: Desk.held)) { desk async throws in
            #expect(try await desk.cancelled()?.receivedBytes == Desk.held)
        }
    }

    @Test("Listing 2: a failure has resume data, and says whether it can be resumed")
    func failing() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: Desk.held) }) { origin in
            let error = try #require(await origin.failure { $0.retryPolicy.retries = 0 })
            #expect(error.code == .unreachable && error.isResumable)
            #expect(error.resumeData?.receivedBytes == Desk.held)
            origin.server.setHandler { _ in .status("403 Forbidden") }
            #expect(await origin.failure()?.isResumable == true, "with other credentials it can")
        }
        let plain = Resource(Resource.old.content)
        try await Origin.with({ .file(plain, for: $0, cutAfter: Desk.held) }) { origin in
            let error = try #require(await origin.failure { $0.retryPolicy.retries = 0 })
            #expect(!error.isResumable && error.resumeData == nil)
        }
        try await Origin.with({ _ in .status("404 Not Found") }) { origin in
            let error = try #require(await origin.failure())
            #expect(!error.isResumable && error.resumeData == nil)
        }
    }

    @Test("Listing 2: a cancelled call leaves its resume data in the store")
    func cancelledCall() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let request = try desk.request()
            let call = Task {
                for try await event in desk.downloader.events(request) {
                    if case .progress(Desk.held, _) = event { return }
                }
            }
            try await call.value
            #expect(try await desk.idleEntry().receivedBytes == Desk.held)
            // Also in a cancelled task, which is where it is requested.
            let asking = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await desk.downloader.resumeData(for: request)
            }
            #expect(try await asking.value?.receivedBytes == Desk.held)
            #expect(try await desk.origin.store.resumeData(for: request.url.redacted)?.totalBytes == 100_000)
            #expect(try await desk.origin.store.resumeData(for: "another") == nil)
        }
    }

    @Test("Listing 3: a task from resume data begins suspended, then continues; an event gives the offset")
    func resuming() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let data = try #require(try await desk.cancelled())
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let task = desk.downloader.makeTask(DownloadRequest(resuming: data, to: desk.output))
            #expect(task.state == .suspended)
            #expect(desk.origin.server.requests.count == 1)
            task.resume()
            let result = try await task.value
            #expect(result.reusedBytes == Desk.held)
            #expect(try desk.origin.hasDelivered(.old))
            let request = try #require(desk.origin.requests(after: 1).first)
            #expect(request.field("Range") == "bytes=55904-" && request.field("If-Range") == "\"a\"")
            let events = await task.rest()
            #expect(events.contains(.resumed(offset: Desk.held, totalBytes: 100_000)))
            #expect(events.restarts.isEmpty)
            #expect(events.last == .finished(result))
        }
    }

    @Test("Suspending ends the request and keeps received bytes; resuming continues; both work repeatedly")
    func suspending() async throws {
        try await Desk.with(Resource.old.stalling(at: 20_000)) { desk in
            let task = desk.downloader.makeTask(try desk.request())
            for _ in 0..<3 {
                let before = desk.origin.server.requests.count
                task.resume()
                task.resume()
                try await wait { desk.origin.server.requests.count > before }
                task.suspend()
                task.suspend()
                try await task.reaches(.suspended)
                #expect(try await desk.origin.store.entries().first?.isInUse != true)
            }
            // Suspended and resumed at once: the progress of the interruption does not matter.
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

    @Test("A task that is to restart does so once, not after each pause")
    func suspendingARestart() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            _ = try await desk.cancelled()
            let task = try await desk.suspended { $0.restarts = true }
            desk.origin.server.setHandler { .file(.old, for: $0) }
            task.resume()
            #expect(try await task.value.reusedBytes == Desk.held)
            #expect(desk.origin.server.requests.map { $0.field("Range") ?? "all" } == ["all", "all", "bytes=55904-"])
        }
    }

    @Test("A download evicted while suspended restarts, with the reason and the number of bytes")
    func evictedWhileSuspended() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let task = try await desk.suspended()
            let other = try await desk.origin.store.open(
                try DownloadURL("http://127.0.0.1:9/other"), headerFields: [:])
            try await HonestServer(Resource.old.bytes).fill(other, upTo: 50_000)
            try await other.close()
            let before = try await desk.origin.store.collect(maximumSize: Desk.held)
            #expect(before.removed.map(\.key) == ["http://127.0.0.1:9/other"], "although it was used later")
            let report = try await desk.origin.store.collect(maximumSize: 0)
            #expect(report.removed.map(\.reason.code.rawValue) == ["paused-over-budget"])
            desk.origin.server.setHandler { .file(.old, for: $0) }
            task.resume()
            let told = await task.rest()
            #expect(try await task.value.reusedBytes == 0)
            let damages = told.compactMap { if case .damaged(let reason) = $0 { reason } else { nil } }
            #expect(damages.map(\.code.rawValue) == ["evicted"])
            #expect(damages.first?.text.contains("\(Desk.held) bytes") == true)
            #expect(try await desk.origin.reasons().contains("partial-gone"))
            #expect(try desk.origin.hasDelivered(.old))
        }
    }

    @Test("A task that has ended, or was released, protects nothing from the collector", arguments: [true, false])
    func signEnds(isCancelled: Bool) async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            var task: DownloadTask? = desk.downloader.makeTask(try desk.request())
            await task?.resume(untilReceived: Desk.held)
            task?.suspend()
            try await task?.reaches(.suspended)
            if isCancelled { task?.cancel() } else { task = nil }
            // The end of its run may still refer to it.
            while try await Self.reason(in: desk, dryRun: true) != "over-budget" {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(try await Self.reason(in: desk, dryRun: false) == "over-budget")
        }
    }

    /// Why the collector removes the only entry.
    private static func reason(in desk: Desk, dryRun: Bool) async throws -> String? {
        try await desk.origin.store.collect(maximumSize: 0, dryRun: dryRun).removed.first?.reason.code.rawValue
    }

    @Test("The log distinguishes pauses from cancellations, and states what was removed")
    func reasons() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let task = try await desk.suspended()
            var events = try await desk.origin.store.events()
            #expect(events.last?.kind == .paused && events.last?.reason.code.rawValue == "paused")
            _ = try await desk.cancelled { $0.key = "cancelled" }
            events = try await desk.origin.store.events(for: "cancelled")
            #expect(events.last?.kind == .cancelled && events.last?.reason.code.rawValue == "cancelled")
            let last = try await desk.running { $0.key = "removed" }
            try await last.cancelDiscarding()
            events = try await desk.origin.store.events(for: "removed")
            #expect(events.map(\.kind) == [.purged])
            #expect(events.last?.reason.code.rawValue == "cancelled-removed")
            #expect(events.last?.bytes == Desk.held)
            task.cancel()
        }
    }

    @Test("Cancelling a caller that waits for the value cancels the download and keeps received bytes")
    func cancelledWaiter() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let suspended = desk.downloader.makeTask(try desk.request())
            let running = try await desk.running()
            for task in [suspended, running] {
                let waiter = Task { try await task.value }
                waiter.cancel()
                await #expect(throws: CancellationError.self) { try await waiter.value }
                #expect(task.state == .completed)
            }
            #expect(try await desk.idleEntry().receivedBytes == Desk.held)
        }
    }

    /// A transport that ends no request before a flag is set, even if it is cancelled.
    private struct Deaf: Transport {
        let isAsked = Flag()
        let mayEnd = Flag()

        func send(_ request: HTTPRequest) async throws -> TransportResponse {
            isAsked.set()
            while !mayEnd.isSet { try? await Task.sleep(for: .milliseconds(5)) }
            throw TransportError(.other, "it has ended")
        }
    }

    @Test("A cancelled task is cancelling until its run has ended, and cannot be resumed until then")
    func canceling() async throws {
        try await Origin.with({ _ in .status("500 Not Asked") }) { origin in
            let transport = Deaf()
            let task = Downloader(store: origin.store, transport: transport).makeTask(
                DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"]))
            task.resume()
            try await wait { transport.isAsked.isSet }
            #expect(task.state == .running)
            task.cancel()
            #expect(task.state == .canceling)
            task.resume()
            #expect(task.state == .canceling)
            transport.mayEnd.set()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(task.state == .completed)
            #expect(origin.server.requests.isEmpty)
        }
    }
}
