import ResumeHTTP
import Synchronization

/// Cancels a body that delivers too few bytes for too long.
///
/// Only the time spent waiting for the network counts: a slow disk or a rate limit is not the server's fault.
final class StallMonitor: Sendable {
    private struct State {
        var received: Int64 = 0
        var windowBytes: Int64 = 0
        /// The time in the window that was spent waiting for the network.
        var waited: Duration = .zero
        var waitingSince: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let window: Duration
    private let minimumBytes: Int64
    private let authority: String
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(for request: DownloadRequest) {
        clock = request.clock
        window = request.boundedStallTimeout
        minimumBytes = max(request.stallBytes, 1)
        authority = request.url.authority
    }

    /// The total number of bytes received.
    var received: Int64 { state.withLock(\.received) }

    /// Starts measuring time spent waiting for the network.
    private func resume() {
        state.withLock { $0.waitingSince = clock() }
    }

    /// Records received bytes and stops measuring time.
    private func pause(receiving count: Int = 0) {
        state.withLock { state in
            if let since = state.waitingSince.take() { state.waited += clock() - since }
            state.received += Int64(count)
        }
    }

    /// Reads parts of a body, and measures the time between them.
    func read(_ body: any ResponseBody, _ take: @escaping BodyMailbox.Reader) async throws -> Bool {
        resume()
        defer { pause() }
        return try await body.read { [self] bytes in
            pause(receiving: bytes.byteCount)
            defer { resume() }
            return try take(bytes)
        }
    }

    /// Performs work that reads a body, and cancels the body if it stalls.
    func watching<Outcome>(_ body: any ResponseBody, _ work: () async throws -> Outcome) async rethrows -> Outcome {
        let stop = Ticker.shared.every(min(window / 4, .seconds(1))) { [self] in
            guard isStalled() else { return }
            let reason = Reason("stalled-below", with: authority, minimumBytes, window / .seconds(1))
            body.cancel(with: TransportError(.stalled, reason.text))
        }
        defer { stop() }
        return try await work()
    }

    private func isStalled() -> Bool {
        state.withLock { state in
            let now = clock()
            if state.received - state.windowBytes >= minimumBytes {
                state.windowBytes = state.received
                state.waited = .zero
                if state.waitingSince != nil { state.waitingSince = now }
                return false
            }
            guard let since = state.waitingSince else { return false }
            return state.waited + (now - since) >= window
        }
    }
}
