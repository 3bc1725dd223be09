import ResumeHTTP
import ResumeStore
import Synchronization

extension DownloadRun {
    /// How often progress is reported.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Reports progress while a body is received, and not after its end.
    func reportingProgress<Outcome>(_ body: () async -> Outcome) async -> Outcome {
        let reporter = ProgressReporter(onEvent)
        let transfer = transfer
        await reporter.report(on: transfer)
        let stop = Ticker.shared.every(Self.progressInterval) {
            guard reporter.begins() else { return }
            Task { await reporter.report(on: transfer) }
        }
        let outcome = await body()
        stop()
        await reporter.end(on: transfer)
        return outcome
    }
}

/// Reports the progress of a transfer on its queue, since the caller's closure may block.
private final class ProgressReporter: Sendable {
    private let onEvent: DownloadEvent.Listener
    /// The number of bytes reported last; nil after the end.
    private let reported = Mutex<Int64?>(-1)
    /// Whether a call waits for the queue or for the caller's closure.
    private let isPending = Atomic(false)

    init(_ onEvent: @escaping DownloadEvent.Listener) {
        self.onEvent = onEvent
    }

    /// Returns whether no call was pending, and marks one as pending.
    func begins() -> Bool { !isPending.exchange(true, ordering: .acquiring) }

    func report(on transfer: isolated Transfer) {
        defer { isPending.store(false, ordering: .releasing) }
        let received = transfer.receivedBytes
        let isNews = reported.withLock { reported in
            guard let last = reported, received > last else { return false }
            reported = received
            return true
        }
        if isNews { onEvent(.progress(receivedBytes: received, totalBytes: transfer.partial.totalLength)) }
    }

    func end(on transfer: isolated Transfer) {
        // What was cut may have come at once, as when a small download is handed over.
        if transfer.receivedBytes < transfer.partial.totalLength ?? 0 { report(on: transfer) }
        reported.withLock { $0 = nil }
    }
}
