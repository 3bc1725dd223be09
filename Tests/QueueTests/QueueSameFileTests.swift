import Dispatch
import HTTPTypes
import OriginServer
@testable import ResumeDownload
@testable import ResumeHTTP
import ResumeStore
import Synchronization
import TestSupport
import Testing

/// Callers that request the same download to the same file while it runs: one run answers both only if it answers each.
@Suite(.timeLimit(.minutes(10)))
struct QueueSameFileTests {
    /// What a second request asks for beside the first one.
    struct Second: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var change: @Sendable (inout DownloadRequest) -> Void
        /// The requests that the origin receives, with their first byte.
        var asked: [Int64?]
        var code: DownloadError.Code?
        var runsAgain = true
    }

    private static let confirmation = MediaOrigin.length - 4096
    private static let digest = HTTPDigest(
        .sha256, of: MediaOrigin.content("/a").bytes(in: 0..<MediaOrigin.length))

    private static let seed: UInt64 = 1
    /// The first bytes of the samples of the whole file, each requested separately, and the first block of them alone:
    /// another request may be for another resource, whose validator proves nothing.
    private static let samples: [Int64?] = {
        let places = SampleGrid(over: [0..<MediaOrigin.length], seed: seed).places
        return [0] + (places[0].upperBound > SampleGrid.blockLength ? [SampleGrid.blockLength] : [])
            + places.dropFirst().map(\.lowerBound)
    }()

    static let seconds: [Second] = [
        .init(testDescription: "the same", change: { _ in }, asked: [nil], runsAgain: false),
        .init(
            testDescription: "another field",
            change: { ($0.headerFields[.accept], $0.sampleSeed) = ("image/png", seed) },
            asked: [nil, confirmation] + samples),
        .init(
            testDescription: "another credential",
            change: { ($0.headerFields[.authorization], $0.sampleSeed) = ("Bearer b", seed) },
            asked: [nil, confirmation] + samples),
        .init(testDescription: "permits", change: { $0.permits = { _ in true } }, asked: [nil, confirmation]),
        .init(testDescription: "a limit", change: { $0.maximumLength = 10 }, asked: [nil], code: .tooLarge),
        .init(testDescription: "a limit that fits", change: { $0.maximumLength = MediaOrigin.length }, asked: [nil]),
        .init(testDescription: "its digest", change: { $0.digest = digest }, asked: [nil]),
        .init(
            testDescription: "a wrong digest",
            change: { $0.digest = HTTPDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32)) },
            asked: [nil, confirmation], code: .digestMismatch),
        .init(testDescription: "a new start", change: { $0.restarts = true }, asked: [nil, nil]),
    ]

    /// A request that has begun and does not end before the gate is opened.
    private static func begun(
        _ bench: QueueBench
    ) async throws -> (Task<DownloadResult, any Error>, DispatchSemaphore) {
        let (reached, gate) = (Flag(), DispatchSemaphore(value: 0))
        // Progress is reported on the transfer's thread, which the delivery waits for.
        let first = try await bench.ask("a") { event in
            if case .progress = event, !reached.isSet {
                reached.set()
                gate.wait()
            }
        }
        try await bench.wait(for: "it has begun") { reached.isSet }
        return (first, gate)
    }

    @Test(
        "The current run answers a second request only if it sends and checks the same", arguments: seconds)
    func second(_ second: Second) async throws {
        try await QueueBench.with { bench in
            let (first, gate) = try await Self.begun(bench)
            let ends = Mutex(0)
            let onEvent: @Sendable (DownloadEvent) -> Void = { event in
                if case .finished = event { ends.withLock { $0 += 1 } }
            }
            let other = try await bench.ask("a", onEvent: onEvent, changing: second.change)
            let isAnnounced = await bench.queue.hasAnnouncedWaiting(for: bench.key("a"))
            try await bench.queue.add([])
            gate.signal()
            #expect(try await first.value.totalBytes == MediaOrigin.length)
            let failure = await failure(of: other)
            #expect((failure as? DownloadError)?.code == second.code, "\(String(describing: failure))")
            #expect(ends.withLock { $0 } == (second.code == nil ? 1 : 0), "the end is told once, with the result")
            #expect(bench.requests(for: "a").map { $0.byteRange?.first } == second.asked)
            #expect(try bench.isWhole("a"))
            // The row of a request that failed is removed after its caller was told.
            try await bench.wait(for: "its row is removed") { (try? bench.rows().isEmpty) == true }
            let held = try await bench.store.entries().map(\.key)
            // Data that the second one did not take is kept for the next.
            #expect(held == (second.code == nil ? [] : [bench.key("a")]))
            #expect(isAnnounced == second.runsAgain)
        }
    }

    @Test("A request that runs again has its row, although the first one's was removed with the delivery")
    func row() async throws {
        try await QueueBench.with { bench in
            let (first, gate) = try await Self.begun(bench)
            bench.origin["a"] = .stalled(after: 10)
            let other = try await bench.ask("a", changing: { $0.restarts = true })
            try await bench.queue.add([])
            gate.signal()
            _ = try await first.value
            try await bench.wait(for: "it runs again") { bench.requests(for: "a").count == 2 }
            try await bench.queue.add([])
            #expect(try bench.states() == ["a running"])
            await bench.goOn("a")
            _ = try await other.value
            #expect(try bench.rows().isEmpty)
        }
    }
}
