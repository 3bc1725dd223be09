internal import ResumeHTTP
internal import ResumeStore
internal import Synchronization

extension DownloadRun {
    /// How often progress is told.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Tells of progress while a body runs, and nothing after its end.
    func tellingProgress<Outcome>(_ body: () async -> Outcome) async -> Outcome {
        let (teller, transfer) = (ProgressTeller(onEvent), transfer)
        await teller.tell(of: transfer)
        let registration = Ticker.shared.every(Self.progressInterval) {
            guard teller.begins() else { return }
            Task { await teller.tell(of: transfer) }
        }
        let outcome = await body()
        registration.cancel()
        await teller.end(on: transfer)
        return outcome
    }
}

/// Tells how far a transfer has come, on its queue, since whoever is told may block.
private final class ProgressTeller: Sendable {
    private let onEvent: @Sendable (DownloadEvent) -> Void
    /// How many bytes were told last; nil after the end.
    private let told = Mutex<Int64?>(-1)
    /// Whether a call waits for the queue, or for whoever is told.
    private let isPending = Atomic(false)

    init(_ onEvent: @escaping @Sendable (DownloadEvent) -> Void) {
        self.onEvent = onEvent
    }

    /// Whether no call is pending; then one is from now on.
    func begins() -> Bool { !isPending.exchange(true, ordering: .acquiring) }

    func tell(of transfer: isolated Transfer) {
        defer { isPending.store(false, ordering: .releasing) }
        let received = transfer.receivedBytes
        let isNews = told.withLock { told in
            guard let last = told, received > last else { return false }
            told = received
            return true
        }
        if isNews { onEvent(.progress(receivedBytes: received, totalBytes: transfer.partial.totalLength)) }
    }

    func end(on transfer: isolated Transfer) {
        told.withLock { $0 = nil }
    }
}
