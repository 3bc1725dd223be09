@testable import ResumeDownload

extension DownloadQueue {
    /// The number of calls that wait for the queue to be idle.
    var idleWaiters: Int { idle.count }

    /// Whether all changes so far are being written to the store.
    var isRecording: Bool { isSettling && !hasWork }

    /// Waits for pending announcements.
    ///
    /// - Returns: Whether the store knows that another destination waits for its copy.
    func hasAnnouncedWaiting(for key: String) async -> Bool {
        await state.items[key]?.announcing?.value
        return state.items[key]?.sign != nil
    }
}
