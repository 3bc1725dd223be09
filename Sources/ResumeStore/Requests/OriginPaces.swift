package import HTTPTypes
package import ResumeFiles
package import ResumeHTTP
import Synchronization

/// What the downloads of a run share about each origin, and about URLs that ask to wait for themselves alone.
package final class OriginPaces: Sendable {
    private static let most = 1000

    private let paces = Mutex<[String: OriginPace]>([:])

    /// Knows no origin yet.
    package init() {}

    /// Reads or changes what is known about an origin.
    package func with<Result>(_ origin: String, _ body: (inout OriginPace) -> Result) -> Result {
        paces.withLock { paces in
            // A list may name any number of hosts.
            if paces.count > Self.most { paces = paces.filter { !$0.value.isIdle } }
            return body(&paces[origin, default: OriginPace()])
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
