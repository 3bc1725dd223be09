/// Progress as object stores' clients tell it: how much came since the last time, how much is there, how much is wanted.
public struct ProgressStep: Sendable, Hashable {
    /// How many bytes came since the last step.
    public var bytes: Int64
    /// How many bytes are there, with those that were held before.
    public var receivedBytes: Int64
    /// How many bytes are wanted; nil where that is not known.
    public var expectedBytes: Int64?
}

/// Makes progress steps of the events of a download.
///
/// ```swift
/// var meter = ProgressMeter()
/// for await event in task.events {
///     if let step = meter.step(for: event) { update(step.bytes, step.receivedBytes, step.expectedBytes) }
/// }
/// ```
public struct ProgressMeter: Sendable {
    /// What was there at the last step; nil before anything is known.
    private var received: Int64?

    /// Makes a meter for one download.
    public init() {}

    /// Takes an event.
    ///
    /// What was held before the download is no progress of it, and what is given up counts again when it comes again.
    ///
    /// - Parameter event: Each event of the download, in order.
    /// - Returns: What to tell; nil where it is no event of progress.
    public mutating func step(for event: DownloadEvent) -> ProgressStep? {
        switch event {
        case .started, .restarted:
            received = 0
        case .resumed(let offset, _):
            // The first time only: after a cut, what came since the last step is still to be told.
            received = received.map { min($0, offset) } ?? offset
        case .progress(let count, let total):
            let (bytes, overflow) = count.subtractingReportingOverflow(received ?? count)
            received = count
            return ProgressStep(bytes: overflow ? 0 : max(bytes, 0), receivedBytes: count, expectedBytes: total)
        case .waiting, .damaged, .resumeDataOutdated, .retrying, .finished:
            break
        }
        return nil
    }
}
