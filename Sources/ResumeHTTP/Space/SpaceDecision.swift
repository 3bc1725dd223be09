/// Decides how many more bytes of a download may arrive, and how many others must be removed for them.
///
/// Room is made for bytes that arrive, a step at a time, since a server may announce any length. Whether an announced
/// length fits is decided by ``missing``.
package struct SpaceDecision: Sendable {
    /// Why bytes are refused.
    package enum Refusal: Sendable, Hashable {
        case disk
        case limit
    }

    /// Whether the size limit refuses bytes.
    private let isBinding: Bool
    /// The bytes that the limit leaves; negative if it is exceeded.
    private let left: Int64
    /// The free bytes on disk.
    package let free: Int64
    /// The missing bytes of the download; nil if its length is unknown.
    private let rest: Int64?
    /// The missing bytes of other running downloads.
    private let others: Int64
    /// The bytes for which room is made next.
    private let wanted: Int64

    /// The most bytes for which room is usually made at once.
    package static let step: Int64 = 64 << 20
    /// The bytes on disk that are left for the database.
    package static let records: Int64 = 1 << 20
    /// The longest part of a body that is written as a whole.
    private static let longestPart: Int64 = 256 << 10

    /// Creates a decision.
    ///
    /// All numbers may be wrong, and are reduced to some that can be added.
    package init(
        _ rule: EvictionRule, left: Int64, free: Int64, rest: Int64?, others: Int64 = 0, wanted: Int64 = Self.step
    ) {
        func bounded(_ number: Int64) -> Int64 { min(max(number, 0), 1 << 60) }
        isBinding = rule.isBinding
        self.left = min(max(left, -1 << 60), 1 << 60)
        self.free = bounded(free)
        self.rest = rest.map(bounded)
        self.others = bounded(others)
        self.wanted = bounded(min(rest ?? .max, wanted))
    }

    /// The bytes that must be removed before the next ones are written.
    package var deficit: Int64 { max(wanted - left, wanted + Self.records - free, 0) }

    /// The bytes by which the announced ones exceed a binding limit.
    package var excess: Int64 { isBinding ? max((rest ?? 1) + others - left, 0) : 0 }

    /// The bytes that must be removed before all of the announced ones fit.
    package var missing: Int64 { max(excess, (rest ?? 1) - free) }

    /// The bytes that disk and limit leave for this download.
    private var room: (disk: Int64, limit: Int64) {
        // A download of known length needs few records, and may fill the disk.
        let disk = rest ?? .max <= free ? free : free - Self.records
        guard isBinding else { return (disk, .max) }
        // Other processes may write a part at the same time.
        let limit = rest == nil ? left - others - 2 * Self.longestPart : left
        return (disk, limit)
    }

    /// Why no more bytes may be written after what can be removed was removed; nil if more may.
    package var refusal: Refusal? {
        if rest == 0 { return nil }
        if room.disk <= 0 { return .disk }
        return room.limit <= 0 ? .limit : nil
    }

    /// The bytes that may be written next, of which there is at least one unless they are refused.
    package var allowed: Int64 {
        // What others have not recorded yet is unknown; so few that a dozen processes together do not pass the limit.
        let part = isBinding ? min(room.disk / 4, room.limit / 32) : room.disk / 4
        return min(wanted, max(part, min(max(min(room.disk, room.limit), 0), Self.longestPart / 4)))
    }
}
