internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

/// Moves a body from the network into a transfer: writes, checkpoints, progress, rate limit, and a watch for stalls.
struct BodyPump {
    let body: any ResponseBody
    let request: DownloadRequest
    let onEvent: @Sendable (DownloadEvent) -> Void

    /// How a body ended.
    struct Outcome {
        var ending: Transfer.BodyEnding
        /// Bytes that came over the network.
        var bytes: Int64
        /// Why it ended before its end; nil where it did not.
        var failure: (any Error)?
    }

    /// Reads to the end.
    func run(into transfer: Transfer, isCloseDelimited: Bool) async -> Outcome {
        let flow = await BodyFlow(into: transfer, request: request, onEvent: onEvent)
        let watch = Task { [body] in await flow.monitor.watch(body) }
        defer { watch.cancel() }
        do {
            try await withTaskCancellationHandler {
                while try await flow.read(body) {
                    try await transfer.catchUp()
                    try await flow.waitForRate()
                }
            } onCancel: {
                body.cancel(with: CancellationError())
            }
            return Outcome(ending: isCloseDelimited ? .closeDelimited : .whole, bytes: flow.received, failure: nil)
        } catch {
            body.cancel(with: error)
            return Outcome(ending: .cut, bytes: flow.received, failure: error)
        }
    }
}

/// What happens to each part of a body on the thread where it came: written, counted, told.
private final class BodyFlow: Sendable {
    let monitor: StallMonitor
    private let transfer: Transfer
    private let request: DownloadRequest
    private let totalBytes: Int64?
    private let onEvent: @Sendable (DownloadEvent) -> Void
    private let started = ContinuousClock.now
    private let state = Mutex(State())

    private struct State {
        var received: Int64 = 0
        var lastProgress: ContinuousClock.Instant?
    }

    /// How often progress is told, at most.
    private static let progressInterval: Duration = .milliseconds(100)

    init(
        into transfer: Transfer, request: DownloadRequest, onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) async {
        monitor = StallMonitor(seconds: request.boundedStallTimeout, minimumBytes: request.stallBytes)
        self.transfer = transfer
        self.request = request
        self.onEvent = onEvent
        totalBytes = await transfer.partial.representation?.completeLength
    }

    /// Bytes that came over the network.
    var received: Int64 { state.withLock { $0.received } }

    /// Reads on.
    ///
    /// - Returns: Whether there is more to read, after a pause.
    func read(_ body: any ResponseBody) async throws -> Bool {
        monitor.resume()
        defer { monitor.pause() }
        return try await body.read { bytes in
            self.monitor.pause()
            defer { self.monitor.resume() }
            return try self.take(bytes)
        }
    }

    private func take(_ bytes: RawSpan) throws -> Bool {
        let now = ContinuousClock.now
        let (isProgressDue, received) = state.withLock { state in
            state.received += Int64(bytes.byteCount)
            let isDue = state.lastProgress.map { now - $0 >= Self.progressInterval } ?? true
            if isDue { state.lastProgress = now }
            return (isDue, state.received)
        }
        monitor.received(received)
        let mayGoOn = try transfer.append(bytes)
        let held = transfer.held
        if let limit = request.maximumLength, held > limit {
            throw DownloadError(.tooLarge, .tooLarge(held, limit: limit))
        }
        if isProgressDue { onEvent(.progress(receivedBytes: held, totalBytes: totalBytes)) }
        return mayGoOn && (due(for: received).map { $0 <= now } ?? true)
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
