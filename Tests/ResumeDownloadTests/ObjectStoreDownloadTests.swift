import HTTPTypes
import OriginServer
import ResumeDownload
import ResumeHTTP
@testable import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing

/// Alibaba Cloud's article on resumable downloads from its object store, step by step, with the API of this package.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct ObjectStoreDownloadTests {
    /// Downloads the rest of what a checkpoint left.
    private static func resumed(
        _ checkpoint: ResumeData, _ desk: Desk, _ configure: (inout DownloadRequest) -> Void = { _ in }
    ) async throws -> DownloadResult {
        var request = DownloadRequest(resuming: checkpoint, to: desk.output)
        request.retryPolicy = .init(
            retries: 2, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
        request.stallTimeout = Engine.patience
        configure(&request)
        let task = desk.downloader.makeTask(request)
        task.resume()
        return try await task.value
    }

    @Test("The checkpoint, exported and imported: the entity tag and the expected length")
    func checkpoint() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let checkpoint = try #require(try await desk.cancelled())
            #expect(checkpoint.entityTag == "\"a\"" && checkpoint.totalBytes == 100_000)
            desk.origin.server.setHandler { .file(.old, for: $0) }
            #expect(try await Self.resumed(checkpoint, desk).reusedBytes == Desk.held)
            #expect(try desk.origin.hasDelivered(.old))
        }
    }

    @Test("getFileInfo: a HEAD to a separate URL, whose tag is compared with the checkpoint's")
    func fileInfo() async throws {
        for (served, reused) in [(Resource.old, Desk.held), (.new, 0)] {
            try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
                let checkpoint = try #require(try await desk.cancelled())
                desk.origin.server.setHandler { .file(served, for: $0) }
                let head = try DownloadURL(desk.origin.url + "?signed=for-head")
                let result = try await Self.resumed(checkpoint, desk) {
                    $0.condition = .head
                    $0.headURL = head
                }
                #expect(result.reusedBytes == reused)
                #expect(try desk.origin.hasDelivered(served))
                let requests = desk.origin.requests(after: 1)
                #expect(requests.map { "\($0.method) \($0.target)" } == ["HEAD /file?signed=for-head", "GET /file"])
                #expect(requests.last?.field("Range") == (reused > 0 ? "bytes=55904-" : nil))
            }
        }
    }

    @Test("If-Match: 206 for the same object; 412 for another, which is then fetched whole, with the reason")
    func ifMatch() async throws {
        for (served, reused) in [(Resource.old, Desk.held), (.new, 0)] {
            try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
                let checkpoint = try #require(try await desk.cancelled())
                desk.origin.server.setHandler { .file(served, for: $0) }
                let result = try await Self.resumed(checkpoint, desk) { $0.condition = .ifMatch }
                #expect(result.reusedBytes == reused)
                #expect(try desk.origin.hasDelivered(served))
                #expect(desk.origin.requests(after: 1).first?.field("If-Match") == "\"a\"")
                #expect(try await desk.origin.reasons().contains("entity-tag-changed") == (reused == 0))
            }
        }
    }

    @Test("Progress: bytes since the last report, bytes received, bytes expected")
    func progress() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let checkpoint = try #require(try await desk.cancelled())
            // Cut once more on the way, so that the bytes of both answers form one sum.
            desk.origin.server.setHandler { .file(.old, for: $0, cutAfter: $0.number == 2 ? 20_000 : nil) }
            let task = desk.downloader.makeTask(DownloadRequest(resuming: checkpoint, to: desk.output))
            task.resume()
            var meter = ProgressMeter()
            let steps = await task.rest().compactMap { meter.step(for: $0) }
            #expect(steps.reduce(0) { $0 + $1.bytes } == 100_000 - Desk.held)
            #expect(steps.allSatisfy { $0.bytes >= 0 && $0.expectedBytes == 100_000 })
            #expect(steps.last?.receivedBytes == 100_000)
        }
    }

    @Test("Progress for every possible sequence of events")
    func meter() {
        let reason = Reason.firstRequest
        let told: [(DownloadEvent, Int64?)] = [
            (.waiting, nil), (.started(totalBytes: 100), nil), (.progress(receivedBytes: 0, totalBytes: 100), 0),
            (.progress(receivedBytes: 30, totalBytes: 100), 30), (.retrying(reason: reason, after: .seconds(1)), nil),
            // More had been received by the end of the answer than was reported.
            (.resumed(offset: 40, totalBytes: 100), nil), (.progress(receivedBytes: 45, totalBytes: 100), 15),
            // A part was found to be wrong.
            (.resumed(offset: 20, totalBytes: 100), nil), (.progress(receivedBytes: 25, totalBytes: 100), 5),
            (.progress(receivedBytes: 10, totalBytes: 100), 0),
            (.restarted(reason: reason, totalBytes: nil), nil), (.progress(receivedBytes: 7, totalBytes: nil), 7),
            (.progress(receivedBytes: .min, totalBytes: nil), 0), (.progress(receivedBytes: .max, totalBytes: nil), 0),
        ]
        var meter = ProgressMeter()
        for (event, bytes) in told { #expect(meter.step(for: event)?.bytes == bytes, "\(event)") }
        var complete = ProgressMeter()
        #expect(complete.step(for: .progress(receivedBytes: 100, totalBytes: 100))?.bytes == 0, "it was held before")
    }

    @Test("pause keeps the partial object, cancel removes it")
    func pauseAndCancel() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            let task = try await desk.suspended()
            #expect(try await desk.origin.store.entries().first?.receivedBytes == Desk.held)
            try await task.cancelDiscarding()
            #expect(try await desk.origin.store.entries().isEmpty)
            let running = try await desk.running()
            try await running.cancelDiscarding()
            #expect(try await desk.origin.store.entries().isEmpty)
            #expect(try Files.names(in: desk.origin.folder["store/blobs"]).isEmpty)
            #expect(running.state == .completed && !Files.exists(desk.output))
        }
    }

    @Test("cancelling a delivered download leaves the file, and other downloads' parts")
    func cancelAfterDelivery() async throws {
        try await Desk.with(Resource.old.stalling(at: Desk.held)) { desk in
            _ = try await desk.cancelled()
            desk.origin.server.setHandler { .file(.old, for: $0) }
            let task = desk.downloader.makeTask(try desk.request { $0.key = "another" })
            task.resume()
            _ = try await task.value
            try await task.cancelDiscarding()
            #expect(try desk.origin.hasDelivered(.old))
            #expect(try await desk.origin.store.entries().count == 1)
        }
    }

    @Test("An expired presigned URL is renewed by a hook, for GET and HEAD, and the object continues")
    func presigned() async throws {
        let handler: Origin.Handler = { request in
            // Each signature is valid for one GET, and each answer is cut.
            let isFresh = request.target.hasSuffix("?OSSAccessKeyId=k&Expires=\(request.number)&Signature=s")
            return isFresh ? .file(.old, for: request, cutAfter: 30_000) : .status("403 Forbidden")
        }
        try await Desk.with(handler) { desk in
            let server = desk.origin.server
            let asked = Mutex<[Int]>([])
            let task = desk.downloader.makeTask(
                try desk.request { request in
                    request.condition = .ifMatch
                    request.refresh = { refusal in
                        asked.withLock { $0.append(refusal.status) }
                        let number = server.requests.count + 1
                        let signed = "\(server.baseURL)/file?OSSAccessKeyId=k&Expires=\(number)&Signature=s"
                        return RefreshedRequest(url: try DownloadURL(signed))
                    }
                })
            task.resume()
            let result = try await task.value
            #expect(asked.withLock { $0 }.allSatisfy { $0 == 403 } && asked.withLock(\.count) >= 4)
            #expect(try desk.origin.hasDelivered(.old))
            #expect(await task.rest().restarts.isEmpty)
            // Only the overlaps were fetched twice.
            #expect(result.fetchedBytes <= 100_000 + 4096 * 4)
        }
    }
}
