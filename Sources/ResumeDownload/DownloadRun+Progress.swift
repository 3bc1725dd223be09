internal import ResumeHTTP
internal import ResumeStore

extension DownloadRun {
    /// How often progress is told.
    private static let progressInterval: Duration = .milliseconds(100)

    /// Tells on the transfer's queue, since whoever is told may block.
    func tellProgress(of transfer: isolated Transfer) async {
        var told: Int64 = -1
        repeat {
            let received = transfer.receivedBytes
            guard received > told else { continue }
            told = received
            onEvent(.progress(receivedBytes: received, totalBytes: transfer.partial.totalLength))
        } while (try? await Task.sleep(for: Self.progressInterval)) != nil
    }
}
