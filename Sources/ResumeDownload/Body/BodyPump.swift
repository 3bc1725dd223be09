internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// Moves a body from the network into a segment, with a rate limit and a watch for stalls.
struct BodyPump {
    let body: any ResponseBody
    let request: DownloadRequest
    /// The digest of the whole, which follows; nil where none is wanted.
    let digest: RunningDigest?
    /// The digest that the server announced for this body.
    let contentDigest: HTTPDigest?
    /// The streams beside it; nil where there can be none.
    var streams: StreamCount?

    /// How many bytes that are not wanted are read for the digest of a body.
    private static let mostSurplus: Int64 = 1 << 20

    /// How a body ended.
    struct Outcome {
        var ending: Transfer.BodyEnding
        /// Bytes that came over the network.
        var bytes: Int64
        /// Why it ended before its end; nil where it did not.
        var failure: (any Error)?
        /// False where all that was wanted came, and is not what its `Content-Digest` says; true where there is none.
        var matchesContentDigest = true
    }

    /// Reads to the end.
    func run(into segment: PartStream, isCloseDelimited: Bool = false) async -> Outcome {
        let flow = BodyFlow(into: segment, request: request, digest: digest, contentDigest: contentDigest)
        return await flow.monitor.watching(body) {
            await move(flow, into: segment, isCloseDelimited: isCloseDelimited)
        }
    }

    private func move(_ flow: BodyFlow, into segment: PartStream, isCloseDelimited: Bool) async -> Outcome {
        var isAtEnd = false
        var wanted: Int64?
        var borderWatch: Task<Void, any Error>?
        defer { if let borderWatch { streams?.left(borderWatch) } }
        do {
            try await withTaskCancellationHandler {
                while try await flow.read(body) {
                    try await segment.catchUp()
                    if segment.hasAllWanted {
                        // What is left may be nothing but the body's end, which its digest waits for.
                        let end = wanted ?? flow.received
                        wanted = end
                        guard contentDigest != nil, flow.received - end < Self.mostSurplus else {
                            return body.cancel(with: CancellationError())
                        }
                    }
                    guard segment.isAtSuccessor else {
                        try await flow.waitForRate()
                        continue
                    }
                    borderWatch = borderWatch ?? streams?.reachedBorder(body)
                }
                isAtEnd = true
            } onCancel: {
                body.cancel(with: CancellationError())
            }
            let ending: Transfer.BodyEnding = !isAtEnd ? .cut : isCloseDelimited ? .closeDelimited : .whole
            return Outcome(
                ending: ending, bytes: flow.received, failure: nil,
                matchesContentDigest: !isAtEnd || flow.matchesContentDigest)
        } catch {
            body.cancel(with: error)
            if borderWatch != nil, error is CancellationError, !Task.isCancelled {
                return Outcome(ending: .cut, bytes: flow.received, failure: nil)
            }
            // What is wanted may have come all the same, and counts then; of a body that was cut the digest says nothing.
            return Outcome(
                ending: .cut, bytes: flow.received, failure: error,
                matchesContentDigest: !segment.hasWholeBody || flow.matchesContentDigest)
        }
    }
}

/// How many streams there are, and how many of them wait for nothing but bytes to compare.
final class StreamCount: Sendable {
    private let running = Atomic(1)
    private let atBorder = Atomic(0)
    /// How long those bytes are waited for.
    ///
    /// They are on their way, unless the server limits the rate: it may be whole seconds then until it sends again.
    private static let pause: Duration = .milliseconds(20)

    /// How many there are.
    func update(_ count: Int) { running.store(count, ordering: .relaxed) }

    /// A stream has all of its bytes: its body ends once all others have, though the border was not compared.
    func reachedBorder(_ body: any ResponseBody) -> Task<Void, any Error> {
        atBorder.add(1, ordering: .relaxed)
        return Task {
            repeat {
                try await Task.sleep(for: Self.pause)
            } while atBorder.load(ordering: .relaxed) < running.load(ordering: .relaxed)
            body.cancel(with: CancellationError())
        }
    }

    /// That stream has ended.
    func left(_ watch: Task<Void, any Error>) {
        watch.cancel()
        atBorder.subtract(1, ordering: .relaxed)
    }
}

/// What happens to each part of a body on the thread where it came.
private final class BodyFlow: Sendable {
    let monitor: StallMonitor
    private let segment: PartStream
    private let request: DownloadRequest
    private let digest: RunningDigest?
    /// Over the body as it comes; nil where nothing was announced to compare it with.
    private let hash: Mutex<RunningHash?>
    /// What was announced.
    private let contentDigest: HTTPDigest?
    private let pace: RatePace

    init(
        into segment: PartStream, request: DownloadRequest, digest: RunningDigest?, contentDigest: HTTPDigest?
    ) {
        self.digest = digest
        hash = Mutex(contentDigest.map { RunningHash($0.algorithm) })
        self.contentDigest = contentDigest
        pace = RatePace(request.rateLimiters)
        monitor = StallMonitor(
            seconds: request.boundedStallTimeout, minimumBytes: request.stallBytes, authority: request.url.authority,
            clock: request.clock)
        self.segment = segment
        self.request = request
    }

    /// Bytes that came over the network.
    var received: Int64 { monitor.received }

    /// Reads on.
    ///
    /// - Returns: Whether there is more to read, after a pause.
    func read(_ body: any ResponseBody) async throws -> Bool {
        monitor.resume()
        defer { monitor.pause() }
        return try await body.read { bytes in
            self.monitor.pause(receiving: bytes.byteCount)
            defer { self.monitor.resume() }
            return try self.take(bytes)
        }
    }

    private func take(_ bytes: RawSpan) throws -> Bool {
        let mayGoOn = try segment.append(bytes)
        digest?.advance(to: segment.held)
        if contentDigest != nil { hash.withLock { hash in unsafe bytes.withUnsafeBytes { unsafe hash?.update($0) } } }
        if let limit = request.maximumLength, segment.held > limit {
            throw DownloadError(.tooLarge, .tooLarge(receiving: segment.held, limit: limit))
        }
        return pace.allowsMore(after: bytes.byteCount) && mayGoOn
    }

    /// Whether what came is what was announced.
    var matchesContentDigest: Bool {
        guard let contentDigest else { return true }
        return hash.withLock { $0?.digest } == contentDigest
    }

    /// Waits until as many bytes may have come as came.
    func waitForRate() async throws { try await pace.wait() }
}
