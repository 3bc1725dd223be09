package import ResumeHTTP

extension DownloadQueue {
    /// A download that an earlier process left in a queue.
    public struct RestoredDownload: Sendable {
        /// The key in the store.
        public var key: String
        /// Its URL, without user info and signature.
        public var url: String
        /// The path to which it is delivered.
        public var destination: String
        /// The number of its delivery.
        package var delivery: Int
        /// Whether it was paused; it stays paused until it is resumed.
        package var isPaused = false
        /// Why it failed permanently; it does not run again before ``DownloadQueue/resume(_:)``.
        ///
        /// nil if it did not fail.
        package var failure: Reason?
        /// The number of received bytes in the store.
        package var receivedBytes: Int64 = 0
        /// The total length in bytes; nil if unknown.
        package var totalBytes: Int64?
        /// The original request, if it can be recreated from what was recorded.
        ///
        /// nil if it had secrets or closures, which are not recorded: user info or a signature in the URL, header fields, a
        /// renewal. Then the program must supply a request with the same key and destination.
        public var request: DownloadRequest?
    }
}
