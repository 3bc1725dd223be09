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
        var delivery: Int
        /// The original request, if it can be recreated from what was recorded.
        ///
        /// nil if it had secrets or closures, which are not recorded: user info or a signature in the URL, header fields, a
        /// renewal. Then the program must supply a request with the same key and destination.
        public var request: DownloadRequest?
    }
}
