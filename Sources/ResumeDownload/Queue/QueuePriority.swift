/// How much a download of a queue matters.
public enum QueuePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// After everything else.
    case veryLow = -2
    /// After what is normal.
    case low = -1
    /// As most are.
    case normal = 0
    /// Before what is normal.
    case high = 1
    /// Before everything else that is not forced.
    case veryHigh = 2

    /// Whether the left one runs later.
    public static func < (left: QueuePriority, right: QueuePriority) -> Bool { left.rawValue < right.rawValue }
}

/// Which of two downloads with the same priority runs first.
public enum QueueOrder: String, Sendable, Hashable {
    /// The one that was asked for last: it is what is looked at now.
    ///
    /// What was asked for first waits as long as newer requests come, unless its priority is raised; a report shows it.
    case lastInFirstOut = "last-in-first-out"
    /// The one that was asked for first.
    case firstInFirstOut = "first-in-first-out"
}

/// How a download of a queue is given up.
public enum QueueCancellation: Sendable, Hashable {
    /// What came is kept, and the next request for the same download goes on with it.
    case soft
    /// What came is dropped.
    case hard
}
