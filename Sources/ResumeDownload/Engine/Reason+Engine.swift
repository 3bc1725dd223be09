package import ResumeHTTP
import ResumeStore
import Synchronization

extension Reason {
    static func renewedToHTTP(_ url: DownloadURL) -> Reason {
        Reason("renewed-to-http", with: url.host)
    }

    /// Makes the reason for which a request, a body or a download ended with an error; for a cancellation, the one set by
    /// the code that cancelled the run.
    init(for error: any Error, _ interruption: Interruption? = nil) {
        self =
            switch error {
            case is CancellationError: interruption?.reason ?? .cancelled
            case let error as DownloadError: error.reason
            case let error as ResponseFailure: error.reason
            case let error as TransportError: .transport(error)
            case RequestOutcome.retry(let reason, _, _): reason
            case RequestOutcome.closed(let origin, _): .waitRequested(origin)
            case let error as StoreError: Reason(.failed, error.message)
            // Errors of the caller's closures and transports may contain a signed URL.
            default: Reason(.failed, "failed with an error of type \(type(of: error))")
            }
    }

    /// The file is in place, and the stored copy of it is not needed.
    static let deliveredBefore = Reason("delivered-before")

    // Why a file is wrong, or not the one that was read.

    static let digestToBeConfirmed = Reason("digest-to-be-confirmed")
    static let announcedDigestMismatch = Reason("announced-digest-mismatch")
    static let namedDigestMismatch = Reason("named-digest-mismatch")
    static let contentDigestMismatch = Reason("content-digest-mismatch")
    static let changedWhileRead = Reason("changed-while-read")
    static let readDigestMismatch = Reason(.digestMismatch)

    /// The caller or a queue cancelled the download.
    static let cancelled = Reason("cancelled")

    /// The download was cancelled and its data will be removed, unless another download of the same file prevents it.
    static let cancelledRemoving = Reason(.cancelledRemoved)

    /// The reason for the removal itself.
    static let cancelledRemoved = Reason(.cancelledRemoved, "cancelled by the caller; the partial data was removed")

    /// A queue or a task paused it, or a queue let another download run first.
    static let paused = Reason("paused")

    /// The program received a signal to exit.
    package static let interrupted = Reason("interrupted")

    /// The download took longer than the user allows.
    package static let timeLimit = Reason("time-limit")

    /// The output of the download could not be written.
    package static let outputClosed = Reason("output-closed")

    static func evicted(_ bytes: Int64) -> Reason { Reason(.evicted, with: bytes) }

    /// More bytes than allowed were received, and it is unknown how many follow.
    static func tooLarge(receiving received: Int64?, limit: Int64) -> Reason {
        let more = received.map { sentence("too-large-so-far", $0) }
        return Reason(.tooLarge, sentence("too-large-body", limit, more ?? ""))
    }

    static func tooLarge(_ length: Int64, limit: Int64) -> Reason {
        Reason(.tooLarge, with: length, limit)
    }

    static func notPermitted(_ url: DownloadURL) -> Reason { Reason("not-permitted", with: url) }

    static func forbidden(_ refusal: Reason) -> Reason {
        Reason(refusal.code, sentence("forbidden", refusal.clause), [.isKept, .isRefusal])
    }

    /// The last failure of a download that is not retried; `isPostponed` if it says until when the server asks to wait.
    static func retriesExhausted(_ last: Reason, held: Int64, isPostponed: Bool) -> Reason {
        let then = held > 0 ? "resume-then" : "again-then"
        let name = isPostponed ? then : held > 0 ? "resume-later" : "again-later"
        return Reason(last.code, sentence(name, last.clause, held), held > 0 ? [.isKept] : [])
    }

    static func transport(_ error: TransportError) -> Reason {
        Reason(error.code.reason, Printable.escaped(error.message), error.isUntrusted ? [.isUntrusted] : [])
    }

    static func certificateChanged(_ error: TransportError) -> Reason {
        Reason("certificate-changed", [.isKept], with: Printable.escaped(error.message))
    }

    static func rangeResponseInvalid(_ error: TransportError) -> Reason {
        Reason("range-answer-invalid", with: Printable.escaped(error.message))
    }

    static func redirect(_ problem: Redirection.Problem, from host: String) -> Reason {
        Reason("redirect", with: host, problem)
    }
}

/// The reason for stopping a run, set before its task is cancelled.
package final class Interruption: Sendable {
    private let stored: Mutex<Reason?>

    /// Creates an interruption, optionally with a reason that applies to any cancellation of the task.
    package init(_ reason: Reason? = nil) { stored = Mutex(reason) }

    /// Sets the reason, replacing an earlier one.
    package func set(_ reason: Reason) { stored.withLock { $0 = reason } }

    /// The reason; nil if none was set.
    var reason: Reason? { stored.withLock { $0 } }
}
