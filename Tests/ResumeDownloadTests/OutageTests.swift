import Foundation
@testable import ResumeDownload
import ResumeFiles
import ResumeHTTP
import ResumeStore
import ResumeTesting
import Synchronization
import TestSupport
import Testing

/// Failures that pass, on a clock whose waits take no time.
@Suite(.timeLimit(.minutes(5)))
struct OutageTests {
    /// A clock that jumps to the end of each wait.
    private final class Jumping: Sendable {
        private let time = Mutex(Duration.zero)
        var now: Duration { time.withLock { $0 } }
        var clock: StoreClock {
            StoreClock(now: { self.now }) { deadline in
                try Task.checkCancellation()
                self.time.withLock { $0 = max($0, deadline) }
            }
        }
    }

    private static func request(_ folder: TemporaryFolder, _ clock: Jumping) throws -> DownloadRequest {
        var request = try DownloadRequest(FakeTransportTests.url, to: folder["out"])
        request.waitClock = clock.clock
        return request
    }

    @Test("A16: after progress, an outage of minutes is waited for, however many requests fail")
    func outage() async throws {
        let statuses = Array(repeating: 503, count: 25)
        let transport = FakeTransport(FakeResource(FakeTransportTests.content, cuts: [150_000]))
        try await FakeTransportTests.with(transport) { downloader, folder in
            let clock = Jumping()
            var request = try Self.request(folder, clock)
            request.retryPolicy.retries = 1
            // The first request is cut; those after it fail.
            let result = try await downloader.download(request) { event in
                if case .resumed = event { return }
                if case .retrying = event, transport.requests.count == 1 {
                    transport.set(FakeResource(FakeTransportTests.content, statuses: statuses))
                }
            }
            #expect(result.reusedBytes == 0)
            #expect(transport.requests.count == 27)
            #expect(clock.now > .seconds(300))
        }
    }

    @Test("A16: it ends after the policy's time, and without progress after the number of tries")
    func end() async throws {
        for (cuts, least, most) in [([150_000], 900, 935), ([], 0, 16)] {
            let statuses = cuts.isEmpty ? Array(repeating: 503, count: 1000) : []
            let transport = FakeTransport(FakeResource(FakeTransportTests.content, cuts: cuts, statuses: statuses))
            try await FakeTransportTests.with(transport) { downloader, folder in
                let clock = Jumping()
                let request = try Self.request(folder, clock)
                await #expect {
                    try await downloader.download(request) { event in
                        guard case .retrying = event, transport.requests.count == 1 else { return }
                        transport.set(
                            FakeResource(FakeTransportTests.content, statuses: Array(repeating: 503, count: 1000)))
                    }
                } throws: {
                    ($0 as? DownloadError)?.code == .unreachable
                }
                #expect(clock.now >= .seconds(least) && clock.now <= .seconds(most), "\(clock.now)")
            }
        }
    }

    @Test("A wait that one download is told holds for all of its origin; none of them asks earlier")
    func told() async throws {
        let (clock, paces) = (Jumping(), OriginPaces())
        let origin = try DownloadURL(FakeTransportTests.url).origin
        paces.with(origin) { $0.close(until: .seconds(120)) }
        let transport = FakeTransport(FakeResource(FakeTransportTests.content))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try Self.request(folder, clock)
            request.origins = paces
            let isEarly = Atomic(false)
            _ = try await downloader.download(request) { event in
                if case .started = event, clock.now < .seconds(120) { isEarly.store(true, ordering: .relaxed) }
            }
            let wasEarly = isEarly.load(ordering: .relaxed)
            #expect(!wasEarly)
            #expect(clock.now == .seconds(120))
            // Longer than the policy allows: it ends at once, without a request.
            paces.with(origin) { $0.close(until: .seconds(5000)) }
            request.restarts = true
            let count = transport.requests.count
            let error = await #expect(throws: DownloadError.self) { try await downloader.download(request) }
            #expect(error?.reason.text.contains("asks to wait until ") == true)
            #expect(transport.requests.count == count)
            #expect(clock.now == .seconds(120))
        }
    }

    @Test("A download that waits to try again keeps its room, so that another one waits and is not refused")
    func room() async throws {
        try await TemporaryFolder.with { folder in
            var configuration = DownloadStore.Configuration(maximumSize: 3_000_000)
            configuration.eviction = .staleWithinLimit
            let store = try await DownloadStore.open(at: folder["store"], configuration: configuration)
            let content = sampleBytes(2_000_000)
            let transport = FakeTransport(FakeResource(content, cuts: [1_000_000]))
            let clock = Jumping()
            let ends = Mutex<[any Error]>([])
            var request = try DownloadRequest(FakeTransportTests.url, to: folder["out"])
            request.waitClock = StoreClock(now: { clock.now }) { deadline in
                let other = Task {
                    let url = try DownloadURL("https://other.example/file")
                    let other = DownloadRequest(url, to: folder["other"])
                    let server = FakeTransport(FakeResource(sampleBytes(2_500_000)))
                    return try await Downloader(store: store, transport: server).download(other)
                }
                try await Task.sleep(for: .milliseconds(300))
                other.cancel()
                do { _ = try await other.value } catch { ends.withLock { $0.append(error) } }
                try await clock.clock.sleep(deadline)
            }
            _ = try await Downloader(store: store, transport: transport).download(request) { event in
                if case .retrying = event, transport.requests.count == 1 {
                    transport.set(FakeResource(content, statuses: [503, 503]))
                }
            }
            #expect(
                ends.withLock { $0 }.map { $0 is CancellationError } == [true, true, true], "\(ends.withLock { $0 })")
            await store.close()
        }
    }

    @Test("A requested wait is remembered beside those of any number of other hosts")
    func manyOrigins() {
        let paces = OriginPaces()
        for number in 0..<5000 { paces.with("https://h\(number)") { $0.close(until: .seconds(60)) } }
        #expect(paces.with("https://h0") { $0.closure(at: .zero) } == .seconds(60))
        for number in 0..<200_000 { paces.with("https://i\(number)") { $0.close(until: .seconds(60)) } }
        #expect(paces.with("https://h0") { $0.closure(at: .zero) } == nil, "their number is bounded")
    }

    /// Hosts that redirect to one server, whose refusals say when to ask again.
    private struct Redirecting: Transport {
        let server: FakeTransport
        var wait = "6"

        func send(_ request: HTTPRequest) async throws -> TransportResponse {
            var response = try await server.send(request)
            if request.authority != "cdn.example" {
                response.head = HTTPResponse(
                    status: .found, headerFields: [.location: "https://cdn.example\(request.path ?? "")/cdn"])
            } else if response.head.status != .ok {
                response.head.headerFields[.retryAfter] = wait
            }
            return response
        }
    }

    private static func with(
        _ transport: Redirecting,
        _ body: (Downloader, @escaping (String) throws -> DownloadRequest, Jumping) async throws -> Void
    ) async throws {
        try await TemporaryFolder.with { folder in
            let (store, clock) = (try await DownloadStore.open(at: folder["store"]), Jumping())
            try await body(
                Downloader(store: store, transport: transport),
                { url in
                    let url = try DownloadURL(url)
                    var request = DownloadRequest(url, to: folder["\(url.host)\(url.requestTarget.count)"])
                    request.waitClock = clock.clock
                    return request
                }, clock)
            await store.close()
        }
    }

    @Test("A wait holds for the server that asks for it, and not for those that redirect to it")
    func behindRedirects() async throws {
        let server = FakeTransport(FakeResource(FakeTransportTests.content))
        server.set(FakeResource(FakeTransportTests.content, statuses: [429]), at: "/f/cdn")
        try await Self.with(Redirecting(server: server)) { downloader, request, clock in
            _ = try await downloader.download(try request("https://a.example/f"))
            #expect(clock.now >= .seconds(6))
            let opens = ["a", "cdn"].map { host in
                downloader.origins.with("https://\(host).example") { $0.opensAt }
            }
            #expect(opens == [.zero, clock.now])
            // Another one leads to the same server.
            downloader.origins.with("https://cdn.example") { $0.close(until: .seconds(120)) }
            let count = server.requests.count
            _ = try await downloader.download(try request("https://b.example/f")) { event in
                if case .retrying = event, clock.now < .seconds(120) {
                    #expect(server.requests.dropFirst(count).map(\.authority) == ["b.example"])
                }
            }
            #expect(clock.now == .seconds(120))
            downloader.origins.with("https://cdn.example") { $0.close(until: .seconds(50_000)) }
            let error = await #expect(throws: DownloadError.self) {
                try await downloader.download(try request("https://c.example/f"))
            }
            #expect(error?.code == .unreachable && clock.now == .seconds(120))
        }
    }

    @Test(
        "A wait that comes with a refusal of one URL holds for that URL, and one of a busy server for its origin",
        arguments: [(404, false), (403, false), (202, false), (429, true), (503, true)])
    func oneURL(status: Int, isForOrigin: Bool) async throws {
        let server = FakeTransport(FakeResource(FakeTransportTests.content))
        server.set(FakeResource(FakeTransportTests.content, statuses: Array(repeating: status, count: 9)), at: "/dead")
        try await Self.with(Redirecting(server: server, wait: "5000")) { downloader, request, clock in
            let error = await #expect(throws: DownloadError.self) {
                try await downloader.download(try request("https://cdn.example/dead"))
            }
            #expect(error?.code == .unreachable && error?.reason.text.contains("asks to wait until ") == true)
            #expect(server.requests.count == 1)
            let result = await Result { try await downloader.download(try request("https://cdn.example/f")) }
            #expect((try? result.get()) == nil ? isForOrigin : !isForOrigin)
            #expect(server.requests.count == (isForOrigin ? 1 : 2))
        }
    }

    @Test("When a range and the plain file are refused alike, other ranges of the origin are not tried in another way")
    func refusedAlike() async throws {
        let content = FakeTransportTests.content
        let transport = FakeTransport()
        try await FakeTransportTests.with(transport) { downloader, folder in
            let paths = ["/a", "/b"]
            let requests = try paths.map { path in
                var request = DownloadRequest(
                    try DownloadURL("https://files.example\(path)"), to: folder["out\(path.count)"])
                request.retryPolicy = RetryPolicy(retries: 0)
                return request
            }
            for (path, request) in zip(paths, requests) {
                transport.set(FakeResource(content, cuts: [150_000]), at: path)
                await #expect(throws: DownloadError.self) { try await downloader.download(request) }
                transport.set(FakeResource(content, statuses: [403, 403]), at: path)
            }
            for request in requests {
                let error = await #expect(throws: DownloadError.self) { try await downloader.download(request) }
                #expect(error?.code == .refused && error?.status == 403)
            }
            #expect(transport.requests.dropFirst(2).map(\.path) == ["/a", "/a", "/b"])
            #expect(try await downloader.store.entries().map(\.receivedBytes) == [150_000, 150_000])
        }
    }

    @Test("In a queue, no download begins at an origin that asks to wait, and another origin gets its place")
    func queue() async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content))
        try await FakeTransportTests.with(transport) { downloader, folder in
            let (closed, open) = (
                DownloadRequest(try DownloadURL("https://closed.example/f"), to: folder["closed"]),
                DownloadRequest(try DownloadURL("https://open.example/f"), to: folder["open"])
            )
            downloader.origins.with(closed.url.origin) { $0.close(until: StoreClock.awake.now() + .seconds(600)) }
            let queue = try await DownloadQueue.open(
                downloader, configuration: .init(order: .firstInFirstOut, maximumRunning: 1))
            let hasBegun = Atomic(false)
            let begins: @Sendable (DownloadEvent) -> Void = { _ in hasBegun.store(true, ordering: .relaxed) }
            let waiting = Task { try await queue.download(closed, onEvent: begins) }
            while await queue.report().items.isEmpty { await Task.yield() }
            _ = try await queue.download(open)
            #expect(transport.requests.map(\.authority) == ["open.example"])
            let begun = hasBegun.load(ordering: .relaxed)
            #expect(!begun)
            await queue.close()
            await #expect(throws: DownloadError.self) { try await waiting.value }
        }
    }

    @Test("While it waits, a download gives up its place, and asks for one before it goes on")
    func place() async throws {
        let transport = FakeTransport(FakeResource(FakeTransportTests.content, statuses: [503, 503, 503, 503]))
        try await FakeTransportTests.with(transport) { downloader, folder in
            var request = try Self.request(folder, Jumping())
            let calls = Mutex<[Bool]>([])
            request.onPause = { isPaused in calls.withLock { $0.append(isPaused) } }
            request.retryPolicy.firstDelay = .seconds(4)
            _ = try await downloader.download(request)
            #expect(calls.withLock { $0 } == [true, false, true, false, true, false, true, false])
        }
    }
}
