public import ResumeHTTP

extension DownloadStore {
    /// What was removed, or would be in a dry run.
    public struct RemovalReport: Sendable {
        /// A removed entry.
        public struct Removed: Sendable, Hashable {
            /// The entry's key.
            public var key: String
            /// The number of its bytes.
            public var bytes: Int64
            /// The reason for its removal.
            public var reason: Reason
            /// The destination of the job of `resumectl` that has to start over; nil if there is none.
            package var jobDestination: String?
        }

        /// The removed entries, in the order of their removal.
        public var removed: [Removed] = []
        /// The keys of entries that were chosen but kept because they are in use.
        public var inUse: [String] = []
        /// The keys of pinned entries if the store still exceeds its size limit, largest first; at most 1000
        /// after a collection.
        public var pinned: [String] = []
        /// The paths of removed files without a row, relative to the store.
        public var orphans: [String] = []
        /// The number of bytes that these files used on disk.
        package var orphanBytes: Int64 = 0

        /// The sums of what was reported in batches, and is not listed here.
        private var former = Sums()

        private struct Sums {
            var removed = 0
            var inUse = 0
            var pinned = 0
            var bytes: Int64 = 0
        }

        /// The number of removed entries, including those reported in batches.
        package var removedCount: Int { former.removed + removed.count }
        /// The number of entries that were in use, including those reported in batches.
        package var inUseCount: Int { former.inUse + inUse.count }
        /// The number of pinned entries, including those reported in batches.
        package var pinnedCount: Int { former.pinned + pinned.count }

        /// The number of bytes that were freed, including those reported in batches.
        public var freedBytes: Int64 {
            removed.reduce(orphanBytes.addingSaturating(former.bytes)) { $0.addingSaturating($1.bytes) }
        }

        /// Passes the lists on as a batch, and keeps their sums only.
        mutating func pass(to tell: ((RemovalReport) -> Void)?) {
            guard let tell, !(removed.isEmpty && inUse.isEmpty && pinned.isEmpty && orphans.isEmpty) else { return }
            var batch = self
            batch.former = Sums()
            former = Sums(removed: removedCount, inUse: inUseCount, pinned: pinnedCount, bytes: freedBytes)
            (removed, inUse, pinned, orphans, orphanBytes) = ([], [], [], [], 0)
            tell(batch)
        }
    }
}

package typealias RemovalReport = DownloadStore.RemovalReport
