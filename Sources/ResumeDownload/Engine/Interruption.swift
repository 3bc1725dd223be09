package import ResumeHTTP
internal import Synchronization

/// Why a run is stopped, as whoever cancels its task says before.
package final class Interruption: Sendable {
    private let stored: Mutex<Reason?>

    /// Makes one without a reason, or with one for whatever cancels the task.
    package init(_ reason: Reason? = nil) { stored = Mutex(reason) }

    /// Sets the reason; the last one counts.
    func set(_ reason: Reason) { stored.withLock { $0 = reason } }

    /// The reason; nil where nobody said one.
    var reason: Reason? { stored.withLock { $0 } }
}
