import ResumeHTTP
import ResumeStore

extension DownloadError {
    static let queueClosed = DownloadError(.closed, Reason("queue-closed"))
    /// The download was cancelled in the queue.
    static let cancelledInQueue = DownloadError(.cancelled, Reason("cancelled-in-queue"))

    /// The request conflicts with another one for the same download.
    static func conflict(_ text: String) -> DownloadError {
        DownloadError(.conflict, Reason("conflict", with: text))
    }
}
