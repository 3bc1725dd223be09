extension DownloadQueue {
    /// The priority of a download in a queue.
    public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
        /// After everything else.
        case veryLow = -2
        /// After downloads with normal priority.
        case low = -1
        /// The default.
        case normal = 0
        /// Before downloads with normal priority.
        case high = 1
        /// Before everything else that is not forced.
        case veryHigh = 2

        /// Whether the left one runs later.
        public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
    }

    /// Which of two downloads with the same priority runs first.
    public enum Order: String, Sendable, Hashable {
        /// The one that was requested last, which is usually what the user looks at now.
        ///
        /// Older requests wait as long as newer ones arrive, unless their priority is raised. A report shows them.
        case lastInFirstOut = "last-in-first-out"
        /// The one that was requested first.
        case firstInFirstOut = "first-in-first-out"
    }

    /// How a download in a queue is cancelled.
    public enum Cancellation: Sendable, Hashable {
        /// The partial data is kept, and the next request for the same download resumes it.
        case keepingPartial
        /// The partial data is removed.
        case discardingPartial
    }
}
