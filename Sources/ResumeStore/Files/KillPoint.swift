#if DEBUG
internal import ResumeFiles
internal import Synchronization
#endif

/// A named place between two steps where a test lets the process die, to see what the next one finds.
///
/// Does nothing in a release build.
package enum KillPoint: Int, Sendable, CaseIterable {
    /// A blob was made, and no row names it yet.
    case blobCreated = 1
    /// A row names a new blob; the old one is still there.
    case startedOver
    /// There is a row for a further stream, of which nothing has come.
    case segmentOpened
    /// A checkpoint's bytes are in the file; its row is not committed.
    case bytesWritten
    /// A checkpoint was committed.
    case checkpointCommitted
    /// The blob was synced; the row does not say so yet.
    case blobSynced
    /// The row says that the blob was synced.
    case durableCommitted
    /// Everything is there and synced, and the row says so.
    case sealed
    /// The blob has a second, temporary name beside the destination, or a copy there.
    case deliveryStaged
    /// The destination has its final name.
    case deliveryRenamed
    /// The destination's folder was synced; the row is still there.
    case deliverySynced
    /// The row is gone; the blob is still there.
    case rowRemoved
    /// The collector's row is gone; its blob is still there.
    case evictionCommitted
    /// Bytes from memory are in a blob of their own and synced; no row names it yet.
    case promotionSynced
    /// A row names them; the blob that it named before is still there.
    case promotionCommitted

    #if DEBUG
    private static let armed = Atomic<Int>(0)
    private static let countdown = Atomic<Int>(0)
    private static let action = Mutex<(@Sendable () -> Void)?>(nil)

    /// Lets the process die at a point, the `occurrence`th time it comes by.
    package static func arm(_ point: KillPoint, occurrence: Int = 1) {
        countdown.store(occurrence, ordering: .sequentiallyConsistent)
        armed.store(point.rawValue, ordering: .sequentiallyConsistent)
    }

    /// Has something done at a point, once, in place of dying there: what another process does at that moment where
    /// locks do not work.
    package static func arm(_ point: KillPoint, performing body: @escaping @Sendable () -> Void) {
        action.withLock { $0 = body }
        arm(point)
    }

    private static func strike() {
        if let body = action.withLock({ $0 }) { body() } else { kill(getpid(), SIGKILL) }
    }
    #endif

    /// Marks that a point is reached.
    @inline(__always)
    static func reached(_ point: KillPoint) {
        #if DEBUG
        guard armed.load(ordering: .relaxed) == point.rawValue else { return }
        if countdown.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 { strike() }
        #endif
    }
}
