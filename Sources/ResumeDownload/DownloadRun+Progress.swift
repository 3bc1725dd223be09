internal import ResumeHTTP
internal import ResumeStore

extension DownloadRun {
    /// How often progress is told.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Tells of progress while a body runs, and nothing after its end.
    func tellingProgress<Outcome>(_ body: () async -> Outcome) async -> Outcome {
        let progress = Task { await tellProgress(of: transfer) }
        let outcome = await body()
        progress.cancel()
        await progress.value
        return outcome
    }

    /// Tells on the transfer's queue, since whoever is told may block.
    private func tellProgress(of transfer: isolated Transfer) async {
        var told: Int64 = -1
        repeat {
            let received = transfer.receivedBytes
            guard received > told else { continue }
            told = received
            onEvent(.progress(receivedBytes: received, totalBytes: transfer.partial.totalLength))
        } while (try? await Task.sleep(for: Self.progressInterval)) != nil
    }
}
