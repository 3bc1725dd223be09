package import ResumeHTTP
internal import Synchronization

/// What the downloads of a run share about each origin.
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
}
