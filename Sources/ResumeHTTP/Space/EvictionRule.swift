/// What a store may remove to make room, and whether its size limit refuses downloads.
package enum EvictionRule: Sendable, Hashable {
    /// Removes the least recently used entries. The size limit refuses nothing.
    case leastRecentlyUsed
    /// Removes only outdated and stale entries: those not used for a day, and unfinished jobs not used for seven days.
    /// The size limit refuses nothing.
    case stale
    /// Removes as ``stale``, and refuses downloads that would exceed the size limit.
    case staleWithinLimit

    /// The groups of entries in the order of their removal; within a group, the least recently used is first.
    package enum Group: Sendable, CaseIterable {
        /// The same request has a newer entry of the same download.
        case superseded
        case unused
        /// A job of the command line is to continue it.
        case job
        /// A queue or a task has paused it.
        case paused
    }

    private static let day: Int64 = 86_400_000

    /// Whether the size limit refuses downloads.
    package var isBinding: Bool { self == .staleWithinLimit }

    /// Whether an entry may be removed to make room.
    ///
    /// - Parameters:
    ///   - group: Its group.
    ///   - time: The time since its last use in milliseconds.
    /// - Returns: Whether it may be removed.
    package func removes(_ group: Group, unusedFor time: Int64) -> Bool {
        if self == .leastRecentlyUsed { return true }
        switch group {
        case .superseded: return true
        case .unused: return time > Self.day
        case .job: return time > 7 * Self.day
        case .paused: return false
        }
    }
}
