#if DEBUG
import ResumeFiles
import Synchronization
#endif

/// A point between two steps at which tests can kill the process, to check what the next process finds.
///
/// It does nothing in release builds.
package enum KillPoint: String, Codable, Sendable, CaseIterable {
    /// A blob was created, but no row refers to it.
    case blobCreated
    /// A row refers to a new blob; the old blob still exists.
    case startedOver
    /// The row of another stream exists, but no bytes have been received.
    case segmentOpened
    /// The bytes of a checkpoint are in the file; its row is not committed.
    case bytesWritten
    case checkpointCommitted
    /// The blob was synced; the row does not record it yet.
    case blobSynced
    /// The row records that the blob was synced.
    case durableCommitted
    /// All bytes are stored and synced, and the row records it.
    case sealed
    /// A temporary link to the blob, or a copy of it, exists next to the destination.
    case deliveryStaged
    /// The destination has its final name.
    case deliveryRenamed
    /// The destination's folder was synced; the row still exists.
    case deliverySynced
    /// The row was removed; the blob still exists.
    case rowRemoved
    /// The collector removed the row; its blob still exists.
    case evictionCommitted
    /// Bytes from memory were written to their own blob and synced; no row refers to it yet.
    case promotionSynced
    /// A row refers to the new blob; the previous blob still exists.
    case promotionCommitted

    #if DEBUG
    private static let armed = Mutex<(point: KillPoint, left: Int, action: @Sendable () -> Void)?>(nil)

    /// Kills the process when the point is reached for the `occurrence`th time, or runs a closure instead, to simulate
    /// another process where locks do not work.
    package static func arm(
        _ point: KillPoint, occurrence: Int = 1, performing action: (@Sendable () -> Void)? = nil
    ) {
        armed.withLock { $0 = (point, occurrence, action ?? { _ = kill(getpid(), SIGKILL) }) }
    }

    /// Lets the process pass all points again.
    package static func disarm() { armed.withLock { $0 = nil } }
    #endif

    /// Records that a point is reached.
    @inline(__always)
    static func reached(_ point: KillPoint) {
        #if DEBUG
        let action = armed.withLock { armed -> (@Sendable () -> Void)? in
            guard armed?.point == point else { return nil }
            armed?.left -= 1
            return armed?.left == 0 ? armed?.action : nil
        }
        action?()
        #endif
    }
}
