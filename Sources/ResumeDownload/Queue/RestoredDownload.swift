public import ResumeHTTP

/// A download that an earlier process left in a queue.
public struct RestoredDownload: Sendable {
    /// What names it in the store.
    public var key: String
    /// Its URL, without user info and signature.
    public var url: String
    /// The file that it becomes.
    public var destination: String
    /// How much it matters.
    public var priority: QueuePriority
    /// Whether it was paused; it stays so.
    public var isPaused: Bool
    /// Why it failed for good: it does not run before ``DownloadQueue/resume(_:)``; nil where it did not.
    public var failure: Reason?
    /// How many bytes the store holds.
    public var receivedBytes: Int64
    /// How many there are in all; nil where that is not known.
    public var totalBytes: Int64?
    /// The request as it was, where it can be made again from what was kept.
    ///
    /// nil where secrets or hooks belonged to it, which are not kept: user info or a signature in the URL, fields, a
    /// renewal. Then the program must make one, for the same key and destination.
    public var request: DownloadRequest?
}
