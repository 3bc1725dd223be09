extension DownloadStore {
    /// What was removed, or would be in a dry run.
    public struct RemovalReport: Sendable {
        /// The removal of each entry, in order: `evicted` or `purged`, with the reason and the number of its bytes.
        public var removed: [Event] = []
        /// The keys of entries that were chosen but kept because they are in use.
        public var inUse: [String] = []
        /// The keys of pinned entries if the store still exceeds its size limit, largest first; at most 1000
        /// after a collection.
        public var pinned: [String] = []
        /// The paths of removed files without a row, relative to the store.
        package var orphans: [String] = []
        /// The number of bytes that these files used on disk.
        package var orphanBytes: Int64 = 0

        /// The sums of what was reported in batches, and is not listed here.
        private var former: (removed: Int, inUse: Int, pinned: Int, bytes: Int64) = (0, 0, 0, 0)

        package init() {}

        /// The number of removed entries, including those reported in batches.
        package var removedCount: Int { former.removed + removed.count }
        /// The number of entries that were in use, including those reported in batches.
        package var inUseCount: Int { former.inUse + inUse.count }
        /// The number of pinned entries, including those reported in batches.
        package var pinnedCount: Int { former.pinned + pinned.count }

        /// The number of bytes that were freed, including those reported in batches.
        public var freedBytes: Int64 {
            removed.sum(\.bytes).addingSaturating(orphanBytes).addingSaturating(former.bytes)
        }

        /// Passes the lists on as a batch, and keeps their sums only.
        mutating func pass(to tell: ((RemovalReport) -> Void)?) {
            guard let tell, !(removed.isEmpty && inUse.isEmpty && pinned.isEmpty && orphans.isEmpty) else { return }
            var batch = self
            batch.former = (0, 0, 0, 0)
            let sums = (removedCount, inUseCount, pinnedCount, freedBytes)
            self = RemovalReport()
            former = sums
            tell(batch)
        }
    }
}

package typealias RemovalReport = DownloadStore.RemovalReport
