import CoreMetrics
import HTTPTypes
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import OriginServer
@testable import ResumeDownload
import ResumeHTTP
import ResumeStore
import Scenarios
import Synchronization
import TestSupport
import Testing
import Tracing

/// What an embedding program gets from the engine's log, metrics and traces.
@Suite(.timeLimit(.minutes(10)), .eachTransport)
struct ObservabilityTests {
    @Test("The log has each step with its level and its reason, and the key with each")
    func log() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: 60_000) }) { origin in
            let watch = Watch()
            try await watch.get(origin)
            origin.server.setHandler { request in
                request.number == 3 ? .file(.old, for: request, cutAfter: 10_000) : .status("503 Service Unavailable")
            }
            try await watch.get(origin) { $0.retryPolicy.retries = 1 }
            origin.server.setHandler { .file(.new, for: $0) }
            try await watch.get(origin)
            #expect(
                watch.lines == [
                    "debug: started", "info: failed connection-closed",
                    "info: retrying status-503", "debug: resumed", "info: failed connection-closed",
                    "info: restarted entity-tag-changed", "debug: delivered",
                ])
            let keys = Set(watch.handler.entries.map { "\($0.metadata["key"] ?? "none")" })
            #expect(keys == [origin.url])
            let resumed = watch.handler.entries.first { $0.message == "resumed" }
            #expect(resumed?.metadata["offset"] == "60000")
            #expect(watch.handler.entries.last?.metadata["fetched"] == "100000")
        }
    }

    @Test("The log reports damage, waits for other downloads, and interruptions")
    func logOfDamage() async throws {
        try await Origin.afterCut { origin in
            let watch = Watch()
            let blob = try #require(try Files.names(in: origin.folder["store/blobs"]).first)
            try await Shell.run("truncate", "-s", "50000", origin.folder["store/blobs/\(blob)"])
            let other = try await origin.store.open(try DownloadURL(origin.url), headerFields: [:])
            let download = Task { try await watch.get(origin) }
            try await wait { !watch.lines.isEmpty }
            try await other.close()
            _ = try await download.value
            #expect(watch.lines.first == "debug: waiting for another download of the same resource")
            origin.server.setHandler { .file(.old, for: $0, cutAfter: 4096, stall: true) }
            let interrupted = Task { try await watch.get(origin) }
            try await wait { origin.server.requests.count == 3 }
            interrupted.cancel()
            _ = try? await interrupted.value
            #expect(watch.lines.last == "debug: cancelled cancelled")
        }
    }

    @Test("The log distinguishes pauses, cancellations that keep or drop partial data, and evictions")
    func logOfStops() async throws {
        try await Desk.with({ .file(.old, for: $0, cutAfter: 4096, stall: true) }) { desk in
            let watch = Watch()
            let (store, transport) = (desk.origin.store, desk.downloader.transport)
            let downloader = Downloader(store: store, transport: transport, logger: watch.logger)
            let task = downloader.makeTask(try desk.request())
            await task.resume(untilReceived: 4096)
            task.suspend()
            try await task.reaches(.suspended)
            #expect(watch.lines.last == "debug: paused paused")
            _ = try await store.collect(maximumSize: 0)
            await task.resume(untilReceived: 4096)
            #expect(watch.lines.contains("info: damaged evicted"))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(watch.lines.last == "debug: cancelled cancelled")
            let other = downloader.makeTask(try desk.request { $0.key = "other" })
            await other.resume(untilReceived: 4096)
            try await other.cancelDiscarding()
            #expect(watch.lines.last == "debug: cancelled cancelled-removed")
            let explanation = watch.handler.entries.last?.metadata["explanation"].map { "\($0)" } ?? ""
            #expect(explanation.contains("is removed") && !explanation.contains("kept"), "\(explanation)")
        }
    }

    @Test("The log reports blocks lost by the disk, outdated resume data, and unknown lengths")
    func logOfLoss() async throws {
        var large = Resource(Content(length: 12_000_000, seed: 9), etag: "\"large\"")
        large.framing = .chunked(size: 100_000)
        let served = large
        try await Origin.with({ .file(served, for: $0) }) { origin in
            let watch = Watch()
            let transfer = try await origin.store.open(try DownloadURL(origin.url), headerFields: [:])
            try await HonestServer(served.bytes, etag: served.etag ?? "").fill(transfer, upTo: 10_000_000)
            let data = try #require(await transfer.resumeData)
            try await transfer.close()
            try Film.flip(1_000, in: origin.folder["store/blobs"])
            try await watch.get(origin)
            #expect(watch.lines.contains("info: damaged block-damaged"))
            let (store, path, logger) = (origin.store, origin.folder["out"], watch.logger)
            try await TransportKind.withTransport { transport in
                let downloader = Downloader(store: store, transport: transport, logger: logger)
                _ = try await downloader.download(DownloadRequest(resuming: data, to: path))
            }
            #expect(watch.lines.contains("info: resume data outdated partial-gone"))
            let started = watch.handler.entries.last { $0.message == "started" }
            #expect(started?.metadata["total"] == "unknown")
            #expect(try origin.hasDelivered(served))
        }
    }

    @Test("Bytes fetched and reused, restarts by reason, and the size of the store are counted")
    func metrics() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: 60_000) }) { origin in
            let watch = Watch()
            try await watch.watching {
                try await watch.get(origin)
                #expect(watch.total("resume_store_bytes_fetched") == 60_000)
                #expect(watch.sizes == [60_000])
                origin.server.setHandler { .file(.old, for: $0) }
                try await watch.get(origin)
                // The overlap is fetched again.
                #expect(watch.total("resume_store_bytes_fetched") == 60_000 + 44_096)
                #expect(watch.total("resume_store_bytes_reused") == 60_000)
                #expect(watch.sizes == [60_000, 0])
                origin.server.setHandler { .file(.old, for: $0, cutAfter: 60_000) }
                try await watch.get(origin)
                origin.server.setHandler { .file(.new, for: $0) }
                try await watch.get(origin)
                #expect(watch.total("resume_store_restarts", reason: "entity-tag-changed") == 1)
                #expect(watch.total("resume_store_bytes_reused") == 60_000)
                #expect(watch.metrics.counters(label: "resume_store_restarts").count == 1)
            }
        }
    }

    @Test("Bytes received over several connections are counted as well")
    func severalConnections() async throws {
        let file = Resource(Content(length: 12_000_000, seed: 1), etag: "\"v1\"")
        try await Origin.with(together(3) { .file(file, for: $0) }) { origin in
            let watch = Watch()
            try await watch.watching {
                let isDelivered = try await watch.get(origin) { $0.connections = 3 }
                #expect(isDelivered)
                #expect(origin.server.requests.count >= 3)
                #expect(watch.total("resume_store_bytes_fetched") >= 12_000_000)
            }
        }
    }

    @Test("Evictions are counted and logged by reason, even if a download makes room for itself")
    func evictions() async throws {
        try await Origin.with({ .file(.old, for: $0, cutAfter: 60_000) }) { origin in
            let watch = Watch()
            try await watch.watching {
                let configuration = DownloadStore.Configuration(maximumSize: 120_000).observed(by: watch.logger)
                let store = try await DownloadStore.open(at: origin.folder["small"], configuration: configuration)
                try await watch.get(origin, origin.url + "?first", store: store)
                #expect(watch.total("resume_store_evictions", reason: "over-budget") == 0)
                try await watch.get(origin, origin.url + "?second", store: store)
                #expect(watch.total("resume_store_evictions", reason: "over-budget") == 1)
                let evicted = try #require(watch.handler.entries.first { $0.message == "evicted" })
                #expect(evicted.level == .info)
                #expect(evicted.metadata["key"] == "\(origin.url)?first")
                #expect(evicted.metadata["reason"] == "over-budget")
                #expect(evicted.metadata["bytes"] == "60000")
                _ = try await store.collect(maximumSize: 0, dryRun: true)
                #expect(watch.total("resume_store_evictions", reason: "over-budget") == 1)
                _ = try await store.collect(maximumAge: .seconds(-1))
                #expect(watch.total("resume_store_evictions", reason: "expired") == 1)
                #expect(watch.sizes.last == 0)
                await store.close()
            }
        }
    }

    @Test("A span for the download under the caller's, and one for each request under that, with its status")
    func spans() async throws {
        try await Origin.with({ request in
            request.path == "/file" ? .status("302 Found", fields: [("Location", "/there")]) : .file(.old, for: request)
        }) { origin in
            let watch = Watch()
            try await watch.watching {
                try await withSpan("caller") { _ in _ = try await watch.get(origin) }
            }
            let caller = try #require(watch.tracer.finishedSpans.first { $0.operationName == "caller" })
            let download = try #require(watch.downloads.first)
            #expect(download.parentSpanID == caller.spanID)
            #expect(download.texts["url.full"] == origin.url)
            #expect(download.texts["resume_store.key"] == origin.url)
            #expect(download.texts["resume_store.bytes.fetched"] == "100000")
            #expect(download.status == nil)
            let requests = watch.requests
            #expect(requests.map(\.operationName) == ["GET", "GET"])
            #expect(requests.allSatisfy { $0.parentSpanID == download.spanID })
            #expect(requests.map { $0.texts["http.response.status_code"] } == ["302", "200"])
            #expect(requests.map { $0.texts["url.full"] } == [origin.url, origin.server.baseURL + "/there"])
            #expect(requests.allSatisfy { $0.texts["http.request.method"] == "GET" })
            #expect(requests.allSatisfy { $0.texts["server.address"] == "127.0.0.1" })
            #expect(requests.allSatisfy { $0.texts["server.port"] == "\(origin.server.port)" })
            #expect(watch.tracer.activeSpans.isEmpty)
            // The context was passed on.
            let sent = origin.server.requests.map { $0.field(InMemoryTracer.spanIDKey) }
            #expect(sent == requests.map(\.spanID))
        }
    }

    @Test("Spans of failures have an error code, and none is left open", arguments: ["404", "cut", "refused"])
    func failedSpans(how: String) async throws {
        try await Origin.with({ request in
            how == "404" ? .status("404 Not Found") : .file(.old, for: request, cutAfter: 60_000)
        }) { origin in
            let watch = Watch()
            // Nothing listens on port 1.
            let url = how == "refused" ? "http://127.0.0.1:1/file" : origin.url
            try await watch.watching { try await watch.get(origin, url) }
            let expected = ["404": "404", "cut": "connection-closed", "refused": "not-connected"][how]
            #expect(watch.requests.map { $0.texts["error.type"] } == [expected])
            #expect(watch.requests.first?.status?.code == .error)
            #expect(watch.downloads.first?.status?.code == .error)
            #expect(watch.downloads.first?.texts["error.type"] == (how == "404" ? "status-404" : expected))
            #expect(watch.tracer.activeSpans.isEmpty)
        }
    }

    @Test("The trace context, which may carry private data, stays at the download's origin")
    func contextStays() async throws {
        try await OriginServer.withServer(handler: { .file(.old, for: $0) }) { other in
            let there = "http://localhost:\(other.port)/there"
            try await Origin.with({ _ in .status("302 Found", fields: [("Location", there)]) }) { origin in
                let watch = Watch()
                try await watch.watching { try await watch.get(origin) }
                #expect(origin.server.requests.first?.field(InMemoryTracer.traceIDKey) != nil)
                #expect(other.requests.count == 1)
                #expect(other.requests.first?.field(InMemoryTracer.traceIDKey) == nil)
            }
        }
    }

    @Test("No signature and no credential is exposed, whatever happens")
    func secrets() async throws {
        struct Failed: Error { var url = "https://s3/x?X-Amz-Signature=topsecret" }
        try await Origin.with({ .file(.old, for: $0, cutAfter: 60_000) }) { origin in
            let place = "127.0.0.1:\(origin.server.port)"
            let url =
                "http://user:topsecret@\(place)/file?X-Amz-Signature=topsecret&token=topsecret&Expires=topsecret"
                + "&Signature=topsecret&AWSAccessKeyId=topsecret"
            let configure: (inout DownloadRequest) -> Void = { request in
                request.headerFields[.authorization] = "Bearer topsecret"
                request.headerFields[.cookie] = "topsecret"
            }
            let watch = Watch()
            try await watch.watching {
                try await watch.get(origin, url, configure)
                origin.server.setHandler { _ in .status("403 Forbidden") }
                try await watch.get(origin, url) { request in
                    configure(&request)
                    request.refresh = { _ in throw Failed() }
                }
                origin.server.setHandler { request in
                    request.path == "/file"
                        ? .status("302 Found", fields: [("Location", "http://127.0.0.1:1/x?X-Amz-Signature=topsecret")])
                        : .file(.old, for: request)
                }
                try await watch.get(origin, url, configure)
                origin.server.setHandler { request in
                    request.path == "/file"
                        ? .status("302 Found", fields: [("Location", "/cdn?signature=topsecret")])
                        : .file(.new, for: request)
                }
                #expect(try await watch.get(origin, url, configure))
            }
            #expect(watch.downloads.count == 4)
            #expect(watch.requests.count >= 6)
            #expect(!watch.everything.contains("topsecret"), "\(watch.everything)")
        }
    }

    @Test(
        "A custom transport's error is reported by its type, whatever its description says",
        arguments: [1, 3], [true, false])
    func foreignErrors(connections: Int, isFirst: Bool) async throws {
        let file = Resource(Content(length: 6_000_000, seed: 1), etag: "\"v1\"")
        try await Origin.with({ .file(file, for: $0) }) { origin in
            let watch = Watch()
            try await watch.watching {
                var request = DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"])
                request.retryPolicy = .init(
                    retries: 1, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(20))
                request.stallTimeout = Engine.patience
                request.connections = connections
                let (wanted, logger, store) = (request, watch.logger, origin.store)
                try await TransportKind.withTransport { transport in
                    let leaky = LeakyTransport(transport: transport, failsAtOnce: isFirst)
                    let error = await #expect(throws: (any Error).self) {
                        try await Downloader(store: store, transport: leaky, logger: logger).download(wanted)
                    }
                    let failure = error as? DownloadError
                    #expect((failure == nil) == isFirst, "what sends nothing fails with its own error")
                    #expect(failure?.reason.text.contains("topsecret") != true)
                }
            }
            #expect(watch.lines.last?.contains("failed") == true)
            #expect(!watch.everything.contains("topsecret"), "\(watch.everything)")
            let events = try await origin.store.events()
            #expect(!events.isEmpty && !events.contains { $0.reason.text.contains("topsecret") }, "\(events)")
        }
    }

    @Test("A logger, metrics and a tracer change nothing except the trace context fields")
    func unwatched() async throws {
        var runs: [Run] = []
        for isWatched in [false, true] {
            try await Origin.afterCut { origin in
                let watch = Watch()
                origin.server.setHandler { .file(.old, for: $0, cutAfter: $0.number == 2 ? 10_000 : nil) }
                if isWatched {
                    try await watch.watching { runs.append(try await Run(origin, logger: watch.logger)) }
                } else {
                    runs.append(try await Run(origin, logger: nil))
                }
                #expect(try origin.hasDelivered(.old))
                #expect(watch.lines.isEmpty != isWatched && watch.downloads.isEmpty != isWatched)
            }
        }
        #expect(runs[0] == runs[1])
        #expect(runs[0].requests.count == 3 && runs[0].offsets == [60_000, 65_904], "\(runs[0])")
    }

    /// What can be observed of a download from outside.
    private struct Run: Equatable {
        var requests: [[String]]
        var offsets: [Int64]
        var bytes: [Int64]

        init(_ origin: Origin, logger: Logger?) async throws {
            var request = DownloadRequest(try DownloadURL(origin.url), to: origin.folder["out"])
            request.retryPolicy = .init(
                retries: 2, time: .seconds(20), firstDelay: .milliseconds(10), longestDelay: .milliseconds(10))
            request.stallTimeout = Engine.patience
            let wanted = request
            let told = Mutex<[DownloadEvent]>([])
            let result = try await TransportKind.withTransport { transport in
                let downloader = Downloader(store: origin.store, transport: transport, logger: logger)
                return try await downloader.download(wanted) { event in told.withLock { $0.append(event) } }
            }
            // The origin's port differs each time.
            let others = [InMemoryTracer.traceIDKey, InMemoryTracer.spanIDKey, "host"]
            requests = origin.server.requests.map { request in
                let fields = request.fields.filter { !others.contains($0.name.lowercased()) }
                return ["\(request.method) \(request.target)"] + fields.map { "\($0.name): \($0.value)" }.sorted()
            }
            offsets = told.withLock { $0 }.offsets
            bytes = [result.totalBytes, result.reusedBytes, result.fetchedBytes]
        }
    }
}

/// A third-party transport, whose errors name the URL with its signature.
private struct LeakyTransport: Transport {
    struct Failure: Error, CustomStringConvertible {
        var description: String { "no answer from https://s3/x?X-Amz-Signature=topsecret" }
    }

    let transport: any Transport
    let failsAtOnce: Bool

    func send(_ request: HTTPRequest) async throws -> TransportResponse {
        var response = try await transport.send(request)
        guard !failsAtOnce else {
            response.body.cancel(with: CancellationError())
            throw Failure()
        }
        response.body = FailingBody(response.body)
        return response
    }

    private final class FailingBody: ResponseBody {
        let body: any ResponseBody

        init(_ body: any ResponseBody) { self.body = body }

        func read(_ reader: @escaping @Sendable (RawSpan) throws -> Bool) async throws -> Bool {
            body.cancel(with: Failure())
            throw Failure()
        }

        func pause() { body.pause() }

        func cancel(with error: any Error) { body.cancel(with: error) }
    }
}
