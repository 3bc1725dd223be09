internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// Moves a body from the network into a transfer, with progress, a rate limit and a watch for stalls.
struct BodyPump {
    let body: any ResponseBody
    let request: DownloadRequest
    /// The digest of the whole, which follows; nil where none is wanted.
    let digest: RunningDigest?
    /// The digest that the server announced for this body.
    let contentDigest: HTTPDigest?
    let onEvent: @Sendable (DownloadEvent) -> Void

    /// How a body ended.
    struct Outcome {
        var ending: Transfer.BodyEnding
        /// Bytes that came over the network.
        var bytes: Int64
        /// Why it ended before its end; nil where it did not.
        var failure: (any Error)?
        /// False where it came to its end, and is not what its `Content-Digest` says.
        var hasContentDigest = true
    }

    /// How often progress is told.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Reads to the end.
    func run(into transfer: Transfer, isCloseDelimited: Bool) async -> Outcome {
        let flow = BodyFlow(into: transfer, request: request, digest: digest, contentDigest: contentDigest)
        let watch = Task { [body] in await flow.monitor.watch(body) }
        let progress = Task { await tellProgress(of: transfer) }
        let outcome = await move(flow, into: transfer, isCloseDelimited: isCloseDelimited)
        watch.cancel()
        progress.cancel()
        // Nothing is told after the end.
        await progress.value
        return outcome
    }

    private func move(_ flow: BodyFlow, into transfer: Transfer, isCloseDelimited: Bool) async -> Outcome {
        var isAtEnd = false
        do {
            try await withTaskCancellationHandler {
                while try await flow.read(body) {
                    try await transfer.catchUp()
                    if transfer.hasAllWanted { return body.cancel(with: CancellationError()) }
                    try await flow.waitForRate()
                }
                isAtEnd = true
            } onCancel: {
                body.cancel(with: CancellationError())
            }
            let ending: Transfer.BodyEnding = !isAtEnd ? .cut : isCloseDelimited ? .closeDelimited : .whole
            return Outcome(
                ending: ending, bytes: flow.received, failure: nil,
                hasContentDigest: !isAtEnd || flow.hasContentDigest)
        } catch {
            body.cancel(with: error)
            return Outcome(ending: .cut, bytes: flow.received, failure: error)
        }
    }

    /// Tells on the transfer's queue, since whoever is told may block.
    private func tellProgress(of transfer: isolated Transfer) async {
        var told: Int64 = -1
        repeat {
            let received = transfer.receivedBytes
            guard received != told else { continue }
            told = received
            onEvent(.progress(receivedBytes: received, totalBytes: transfer.partial.totalLength))
        } while (try? await Task.sleep(for: Self.progressInterval)) != nil
    }
}

/// What happens to each part of a body on the thread where it came.
private final class BodyFlow: Sendable {
    let monitor: StallMonitor
    private let transfer: Transfer
    private let request: DownloadRequest
    private let digest: RunningDigest?
    /// Over the body as it comes; nil where nothing was announced to compare it with.
    private let hash: Mutex<RunningHash?>
    /// What was announced.
    private let contentDigest: HTTPDigest?
    private let started = ContinuousClock.now

    init(into transfer: Transfer, request: DownloadRequest, digest: RunningDigest?, contentDigest: HTTPDigest?) {
        self.digest = digest
        hash = Mutex(contentDigest.map { RunningHash($0.algorithm) })
        self.contentDigest = contentDigest
        monitor = StallMonitor(seconds: request.boundedStallTimeout, minimumBytes: request.stallBytes)
        self.transfer = transfer
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
            let received = self.monitor.pause(receiving: bytes.byteCount)
            defer { self.monitor.resume() }
            return try self.take(bytes, received: received)
        }
    }

    private func take(_ bytes: RawSpan, received: Int64) throws -> Bool {
        let mayGoOn = try transfer.append(bytes)
        digest?.advance(to: transfer.held)
        if contentDigest != nil { hash.withLock { hash in unsafe bytes.withUnsafeBytes { unsafe hash?.update($0) } } }
        if let limit = request.maximumLength, transfer.held > limit {
            throw DownloadError(.tooLarge, .tooLarge(transfer.held, limit: limit))
        }
        return mayGoOn && (due(for: received).map { $0 <= .now } ?? true)
    }

    /// Whether what came is what was announced.
    var hasContentDigest: Bool {
        guard let contentDigest else { return true }
        return hash.withLock { $0?.digest(contentDigest.algorithm) } == contentDigest
    }

    /// Waits until as many bytes may have come as came.
    func waitForRate() async throws {
        guard let due = due(for: received), due > .now else { return }
        try await Task.sleep(until: due, clock: .continuous)
    }

    private func due(for received: Int64) -> ContinuousClock.Instant? {
        guard let rate = request.rateLimit, rate > 0 else { return nil }
        return started + .seconds(Double(received) / Double(rate))
    }
}
