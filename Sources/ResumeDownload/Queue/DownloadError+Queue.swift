import ResumeHTTP
package import ResumeStore

extension DownloadError {
    /// The queue is closed.
    package static let queueClosed = DownloadError(
        .closed,
        Reason("queue-closed", "the queue is closed; its unfinished downloads continue when it is opened again"))
    /// The download was cancelled in the queue.
    package static let cancelledInQueue = DownloadError(
        .cancelled,
        Reason("cancelled-in-queue", "the download was cancelled in the queue; add it again to resume it"))

    /// The request conflicts with another one for the same download.
    package static func conflict(_ text: String) -> DownloadError {
        DownloadError(.conflict, Reason("conflict", text))
    }
}
