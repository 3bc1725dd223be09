import Foundation
import ResumeDownload
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
