internal import Synchronization

/// Sees that a body brings too little for too long, and cancels it.
///
/// Only the time spent waiting for the network counts: a slow disk or a rate limit is not the server's fault.
final class StallMonitor: Sendable {
    private struct State {
        var received: Int64 = 0
        var windowBytes: Int64 = 0
        /// Time in the window that was spent waiting for the network.
        var waited: Duration = .zero
        var waitingSince: ContinuousClock.Instant?

        mutating func pause(at now: ContinuousClock.Instant) {
            if let since = waitingSince.take() { waited += now - since }
        }
    }

    private let state = Mutex(State())
    private let window: Duration
    private let seconds: Double
    private let minimumBytes: Int64
    private let authority: String
    private let clock: @Sendable () -> ContinuousClock.Instant

    init(
        seconds: Double, minimumBytes: Int64, authority: String,
        clock: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        self.clock = clock
        self.seconds = max(seconds, 0.1)
        window = .seconds(self.seconds)
        self.minimumBytes = max(minimumBytes, 1)
        self.authority = authority
    }

    /// The network is waited for from now on.
    func resume() {
        state.withLock { $0.waitingSince = clock() }
    }

    /// The network is not waited for any more.
    func pause() {
        state.withLock { $0.pause(at: clock()) }
    }

    /// Bytes that came in all.
    var received: Int64 { state.withLock { $0.received } }

    /// Takes note of bytes that came; the network is not waited for any more.
    func pause(receiving count: Int) {
        state.withLock { state in
            state.pause(at: clock())
            state.received += Int64(count)
        }
    }

    /// Looks from time to time while another body runs, and cancels a body that stalls.
    func watching<Outcome>(_ body: any ResponseBody, _ work: () async throws -> Outcome) async rethrows -> Outcome {
        let registration = Ticker.shared.every(min(window / 4, .seconds(1))) { [self] in
            guard isStalled() else { return }
            let message =
                "the download from \(authority) stalled: less than \(minimumBytes) bytes in \(seconds) seconds"
            body.cancel(with: TransportError(.stalled, message))
        }
        defer { registration.cancel() }
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
