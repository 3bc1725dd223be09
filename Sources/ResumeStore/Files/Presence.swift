internal import ResumeFiles

/// A kernel lock that indicates that a store is open.
///
/// All instances that have the store open share it; replacing the database requires it exclusively.
package struct Presence: Sendable {
    private let locks: ByteLocks

    /// The locked byte; no entry has this number.
    private static let byte: Int64 = 0

    /// Indicates that the store is open, until ``end()`` or until this value is released.
    ///
    /// - Throws: ``StoreError`` with `busy` while the store is being rebuilt; ``SystemError``.
    init(in folder: StoreFolder) throws {
        try folder.requireOwn(StoreFolder.LockFile.waiters.rawValue)
        locks = try folder.locks(.waiters)
        guard try locks.tryLock(Self.byte, exclusively: false) else {
            throw StoreError(
                .busy, "the store at \(folder.path) is being rebuilt by another process", advice: "Try again later.")
        }
    }

    func end() { locks.unlock(Self.byte) }

    /// Prevents all others from opening the store.
    ///
    /// - Throws: ``StoreError`` with `inUse` if it is already open; ``SystemError``.
    package init(alone folder: StoreFolder) throws {
        try folder.requireOwn(StoreFolder.LockFile.waiters.rawValue)
        locks = try folder.locks(.waiters)
        guard try locks.tryLock(Self.byte) else {
            throw StoreError(
                .inUse, "another process or task has the store at \(folder.path) open",
                advice: "Stop all programs that use it, and try again.")
        }
    }
}
