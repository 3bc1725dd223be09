package import HTTPTypes
package import ResumeFiles
package import ResumeHTTP
import Synchronization

/// What the downloads of a run share about each origin, and about URLs that ask to wait for themselves alone.
package final class OriginPaces: Sendable {
    private struct State {
        var paces: [String: OriginPace] = [:]
        /// The number from which on idle origins are forgotten.
        var most = 1000
    }

    /// The number from which on requested waits are forgotten too.
    private static let mostClosed = 64_000

    private let state = Mutex(State())

    /// Knows no origin yet.
    package init() {}

    /// Reads or changes what is known about an origin.
    package func with<Result>(_ origin: String, _ body: (inout OriginPace) -> Result) -> Result {
        state.withLock { state in
            // A list may name any number of hosts.
            if state.paces.count > state.most {
                let keepsClosed = state.paces.count < Self.mostClosed
                state.paces = state.paces.filter { _, pace in
                    !pace.isIdle || keepsClosed && pace.opensAt > .zero
                }
                state.most = max(1000, 2 * state.paces.count)
            }
            return body(&state.paces[origin, default: OriginPace()])
        }
    }

    /// Records how long an origin asks to wait for all of its files, if it does, which is lengthened at random.
    package func close(_ origin: String, asAskedBy head: HTTPResponse, on clock: StoreClock) {
        let timing = ResponseTiming(head)
        guard timing.holdsForOrigin, let seconds = timing.afterSeconds else { return }
        let wait = RetryBudget.lengthened(.seconds(seconds), .random(in: 0...1))
        with(origin) { $0.close(until: clock.now() + wait) }
    }
}
