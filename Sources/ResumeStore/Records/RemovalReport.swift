public import ResumeHTTP

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
    }

    /// The removed entries, in the order of their removal.
    public var removed: [Removed] = []
    /// The keys of entries that were chosen but kept because they are in use.
    public var inUse: [String] = []
    /// The keys of pinned entries if the store still exceeds its size limit, largest first.
    public var pinned: [String] = []
    /// The paths of removed files without a row, relative to the store.
    public var orphans: [String] = []
    /// The number of bytes that these files used on disk.
    public var orphanBytes: Int64 = 0

    /// The number of bytes that were freed.
    public var freedBytes: Int64 { removed.reduce(orphanBytes) { $0.addingSaturating($1.bytes) } }
}
