package import ResumeHTTP
internal import Synchronization

/// The reason for stopping a run, set before its task is cancelled.
package final class Interruption: Sendable {
    private let stored: Mutex<Reason?>

    /// Creates an interruption, optionally with a reason that applies to any cancellation of the task.
    package init(_ reason: Reason? = nil) { stored = Mutex(reason) }

    /// Sets the reason, replacing an earlier one.
    func set(_ reason: Reason) { stored.withLock { $0 = reason } }

    /// The reason; nil if none was set.
    var reason: Reason? { stored.withLock { $0 } }
}
