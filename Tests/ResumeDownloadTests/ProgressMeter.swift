import ResumeDownload

/// Progress in the form that clients of object stores use: bytes since the last step, received bytes, expected bytes.
struct ProgressStep: Sendable, Hashable {
    /// The number of bytes received since the last step.
    var bytes: Int64
    /// The number of bytes received so far, including those of earlier runs.
    var receivedBytes: Int64
    /// The total length in bytes; nil if unknown.
    var expectedBytes: Int64?
}

/// Converts the events of a download to progress steps.
struct ProgressMeter: Sendable {
    /// The received bytes at the last step; nil before anything is known.
    private var received: Int64?

    /// Makes a meter for one download.
    init() {}

    /// Handles an event.
    ///
    /// Bytes received before the download started do not count as progress. Bytes that are discarded count again when
    /// they are fetched again.
    ///
    /// - Parameter event: Each event of the download, in order.
    /// - Returns: The step to report; nil if the event is not about progress.
    mutating func step(for event: DownloadEvent) -> ProgressStep? {
        switch event {
        case .started, .restarted:
            received = 0
        case .resumed(let offset, _):
            // Only the first time: after an interruption, the bytes since the last step still have to be reported.
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
