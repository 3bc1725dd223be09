public import ResumeHTTP

/// An event of a download.
@nonexhaustive
public enum DownloadEvent: Sendable, Hashable {
    /// Another task or process downloads the same resource; the download waits for it.
    case waiting
    /// The first response was accepted, and nothing had been received before.
    ///
    /// The total is in bytes; nil if the server does not announce it.
    case started(totalBytes: Int64?)
    /// The download continues at an offset after bytes received earlier.
    case resumed(offset: Int64, totalBytes: Int64?)
    /// Some received bytes are fetched again, because they were damaged on disk, lost in a crash, or removed by the
    /// collector while the download was paused.
    case damaged(reason: Reason)
    /// The store no longer has the bytes that the resume data names, or has another version of them; the download
    /// continues from the stored bytes, or starts over if there are none.
    case resumeDataOutdated(reason: Reason)
    /// The download restarted although bytes had been received.
    case restarted(reason: Reason, totalBytes: Int64?)
    /// The number of received bytes. It increases, except after a restart, after a damaged part was discarded, and,
    /// with gaps or several connections, when the end of a part is fetched again for comparison.
    case progress(receivedBytes: Int64, totalBytes: Int64?)
    /// The download will be retried.
    case retrying(reason: Reason, after: Duration)
    /// The file was delivered.
    case finished(DownloadResult)

    /// Receives the events of a download.
    package typealias Listener = @Sendable (DownloadEvent) -> Void

    /// The received share, from 0 to 1, if this is progress with a known total length, or the end; otherwise nil.
    public var fraction: Double? {
        switch self {
        case .progress(_, let total?) where total <= 0: 1
        case .progress(let received, let total?): min(Double(received) / Double(total), 1)
        case .finished: 1
        default: nil
        }
    }
}

extension DownloadEvent: CustomStringConvertible {
    /// The event as a line for people.
    public var description: String {
        switch self {
        case .waiting: sentence("another-download")
        case .started(let total): "started: \(Self.bytes(total))"
        case .resumed(let offset, let total): "resumed at byte \(offset) of \(Self.bytes(total))"
        case .damaged(let reason): sentence("event-damaged", Printable.escaped(reason.text))
        case .resumeDataOutdated(let reason): sentence("event-outdated", Printable.escaped(reason.text))
        case .restarted(let reason, _): "restarted: \(Printable.escaped(reason.text))"
        case .progress(let received, let total): "received \(received) of \(Self.bytes(total))"
        case .retrying(let reason, let delay):
            "trying again in \(delay.formattedSeconds) s: \(Printable.escaped(reason.text))"
        case .finished(let result): "delivered to \(Printable.escaped(result.path))"
        }
    }

    private static func bytes(_ count: Int64?) -> String { count.map { "\($0) bytes" } ?? "an unknown number of bytes" }
}

extension Duration {
    /// The seconds with at most one digit after the point.
    fileprivate var formattedSeconds: String {
        let text = "\((self / .milliseconds(100)).rounded() / 10)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
