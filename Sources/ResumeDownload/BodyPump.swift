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

    /// How often progress is told, at most.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Reads to the end.
    ///
    /// Runs on the transfer's queue, so that a buffer is written without a hop.
    func run(into transfer: isolated Transfer, isCloseDelimited: Bool) async throws -> Outcome {
        let monitor = StallMonitor(seconds: request.boundedStallTimeout, minimumBytes: request.stallBytes)
        let watch = Task { [body] in await monitor.watch(body) }
        defer { watch.cancel() }
        var bytes: Int64 = 0
        do {
            try await withTaskCancellationHandler {
                try await read(into: transfer, monitor: monitor, bytes: &bytes)
            } onCancel: {
                body.cancel(with: CancellationError())
            }
            return Outcome(ending: isCloseDelimited ? .closeDelimited : .whole, bytes: bytes, failure: nil)
        } catch {
            body.cancel(with: error)
            return Outcome(ending: .cut, bytes: bytes, failure: error)
        }
    }

    private func read(into transfer: isolated Transfer, monitor: StallMonitor, bytes: inout Int64) async throws {
        var lastProgress = ContinuousClock.now - Self.progressInterval
        let started = ContinuousClock.now
        while true {
            monitor.beginWaiting()
            let next = try await body.next()
            monitor.endWaiting()
            guard let buffers = next else { return }
            var isCheckpointDue = false
            for buffer in buffers {
                bytes += Int64(buffer.count)
                isCheckpointDue =
                    try unsafe buffer.withUnsafeBytes { try unsafe transfer.append($0) } || isCheckpointDue
            }
            monitor.received(bytes)
            if isCheckpointDue { try await transfer.startCheckpoint() }
            let held = transfer.partial
            if let limit = request.maximumLength, held.length > limit {
                throw DownloadError(.tooLarge, .tooLarge(held.length, limit: limit))
            }
            let now = ContinuousClock.now
            if now - lastProgress >= Self.progressInterval {
                lastProgress = now
                onEvent(.progress(receivedBytes: held.length, totalBytes: held.representation?.completeLength))
            }
            if let rate = request.rateLimit, rate > 0 {
                let due = started + .seconds(Double(bytes) / Double(rate))
                if due > now { try await Task.sleep(until: due, clock: .continuous) }
            }
        }
    }
}

/// Sees that a body brings too little for too long, and cancels it.
///
/// Only the time spent waiting for the network counts: a slow disk or a rate limit is not the server's fault.
final class StallMonitor: Sendable {
    private struct State {
        var received: Int64 = 0
        var waitingSince: ContinuousClock.Instant?
        var windowStart = ContinuousClock.now
        var windowBytes: Int64 = 0
        /// Time within the window that was not spent waiting.
        var busy: Duration = .zero
        var busySince: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let window: Duration
    private let seconds: Double
    private let minimumBytes: Int64

    init(seconds: Double, minimumBytes: Int64) {
        self.seconds = max(seconds, 0.1)
        window = .seconds(self.seconds)
        self.minimumBytes = max(minimumBytes, 1)
    }

    func beginWaiting() {
        state.withLock { state in
            if let since = state.busySince { state.busy += ContinuousClock.now - since }
            state.busySince = nil
            state.waitingSince = .now
        }
    }

    func endWaiting() {
        state.withLock { state in
            state.waitingSince = nil
            state.busySince = .now
        }
    }

    /// Takes note of how many bytes came in all.
    func received(_ total: Int64) {
        state.withLock { $0.received = total }
    }

    /// Looks from time to time until the task is cancelled.
    func watch(_ body: any ResponseBody) async {
        let pause = min(window / 4, .seconds(1))
        while !Task.isCancelled {
            // A cancelled sleep ends the loop at its condition.
            try? await Task.sleep(for: pause)
            if isStalled() {
                body.cancel(with: TransportError(.stalled, "Too little came for \(seconds) seconds."))
                return
            }
        }
    }

    private func isStalled() -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            if state.received - state.windowBytes >= minimumBytes {
                state.windowStart = now
                state.windowBytes = state.received
                state.busy = .zero
                return false
            }
            return state.waitingSince != nil && now - state.windowStart - state.busy >= window
        }
    }
}
