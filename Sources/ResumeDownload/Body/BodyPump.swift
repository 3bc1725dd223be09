import ResumeFiles
import ResumeHTTP
import ResumeStore
import Synchronization

/// Transfers a body from the network into a segment, with rate limits and stall detection.
struct BodyPump {
    let body: any ResponseBody
    let request: DownloadRequest
    /// The running digest of the whole file; nil if none is needed.
    var digest: RunningDigest?
    /// The digest that the server announced for this body.
    var contentDigest: HTTPDigest?
    /// The count of concurrent streams; nil if there can be only one.
    var streams: StreamCount?
    /// Compares the received bytes up to an offset with a file in place; nil if there is none.
    var compare: (@Sendable (Int64) throws -> Void)?

    /// How many bytes after the wanted ones are read at most to complete the digest of a body.
    private static let mostSurplus: Int64 = 1 << 20

    /// How a body ended.
    struct Outcome {
        var ending = Transfer.BodyEnding.cut
        /// The number of bytes received over the network.
        var bytes: Int64 = 0
        /// Why it ended early; nil if it did not.
        var failure: (any Error)?
        /// False if all wanted bytes were received but do not match `Content-Digest`; true if there is none.
        var matchesContentDigest = true
    }

    /// Reads the body to its end.
    func run(into segment: PartStream, isCloseDelimited: Bool = false) async -> Outcome {
        let flow = Flow(of: self, into: segment)
        return await flow.monitor.watching(body) {
            await move(flow, into: segment, isCloseDelimited: isCloseDelimited)
        }
    }

    private func move(_ flow: Flow, into segment: PartStream, isCloseDelimited: Bool) async -> Outcome {
        var outcome = Outcome()
        var wanted: Int64?
        var borderWatch: Task<Void, any Error>?
        defer { if let borderWatch { streams?.left(borderWatch) } }
        do {
            try await withCancellation {
                while try await flow.monitor.read(body, flow.take) {
                    try await segment.catchUp()
                    if segment.hasAllWanted {
                        // The body may end here, which must be known before its digest can be compared.
                        let end = wanted ?? flow.received
                        wanted = end
                        guard contentDigest != nil, flow.received - end < Self.mostSurplus else {
                            return body.cancel()
                        }
                    }
                    guard segment.isAtSuccessor else {
                        try await flow.pace.wait()
                        continue
                    }
                    borderWatch = borderWatch ?? streams?.reachedBorder(body)
                }
                outcome.ending = isCloseDelimited ? .closeDelimited : .whole
                outcome.matchesContentDigest = flow.matchesContentDigest
            } onCancel: {
                body.cancel()
            }
        } catch {
            body.cancel(with: error)
            if borderWatch == nil || !(error is CancellationError) || Task.isCancelled {
                outcome.failure = error
                // All wanted bytes may have been received, so their digest counts. That of an incomplete body means
                // nothing.
                outcome.matchesContentDigest = !segment.hasWholeBody || flow.matchesContentDigest
            }
        }
        outcome.bytes = flow.received
        return outcome
    }

    /// Counts the streams of a download, and those that only wait for bytes to compare with the next segment.
    final class StreamCount: Sendable {
        private let running = Atomic(1)
        private let atBorder = Atomic(0)
        /// How long to wait for those bytes.
        ///
        /// They are usually on their way, but a server that limits the rate may not send again for seconds.
        private static let pause: Duration = .milliseconds(20)

        /// Sets the number of streams.
        func update(_ count: Int) { running.store(count, ordering: .relaxed) }

        /// Records that a stream has all of its bytes.
        ///
        /// Its body is cancelled once all other streams have theirs too, even if the border was not compared.
        func reachedBorder(_ body: any ResponseBody) -> Task<Void, any Error> {
            atBorder.add(1, ordering: .relaxed)
            return Task {
                repeat {
                    try await Task.sleep(for: Self.pause)
                } while atBorder.load(ordering: .relaxed) < running.load(ordering: .relaxed)
                body.cancel()
            }
        }

        /// Records that such a stream has ended.
        func left(_ watch: Task<Void, any Error>) {
            watch.cancel()
            atBorder.subtract(1, ordering: .relaxed)
        }
    }

    /// Handles each part of a body on the thread that receives it.
    private final class Flow: Sendable {
        let monitor: StallMonitor
        private let pump: BodyPump
        private let segment: PartStream
        /// The hash of the body; nil if no digest was announced.
        private let hash: Mutex<RunningHash?>
        let pace: RatePace

        init(of pump: BodyPump, into segment: PartStream) {
            self.pump = pump
            self.segment = segment
            hash = Mutex(pump.contentDigest.map { RunningHash($0.algorithm) })
            pace = RatePace(pump.request.rateLimiters)
            monitor = StallMonitor(for: pump.request)
        }

        /// The number of bytes received over the network.
        var received: Int64 { monitor.received }

        func take(_ bytes: RawSpan) throws -> Bool {
            // Before it is written, since a reader may get it at once.
            if let limit = pump.request.maximumLength, let end = segment.end(after: bytes.byteCount), end > limit {
                throw DownloadError(.tooLarge, .tooLarge(receiving: end, limit: limit))
            }
            let mayGoOn = try segment.append(bytes)
            pump.digest?.advance(to: segment.held)
            try pump.compare?(segment.held)
            if pump.contentDigest != nil {
                hash.withLock { hash in unsafe bytes.withUnsafeBytes { unsafe hash?.update($0) } }
            }
            return pace.allowsMore(after: bytes.byteCount) && mayGoOn
        }

        /// Whether the body matches the announced digest.
        var matchesContentDigest: Bool {
            hash.withLock { $0?.digest } == pump.contentDigest
        }
    }
}
