import ResumeFiles

/// A kernel lock that indicates that a store is open.
///
/// All instances that have the store open share it; replacing the database requires it exclusively.
package struct Presence: Sendable {
    private let locks: ByteLocks

    /// The locked byte; no entry has this number.
    private static let byte: Int64 = 0

    /// Indicates that the store is open, until ``end()`` or until this value is released.
    ///
    /// - Parameters:
    ///   - folder: The store.
    ///   - isAlone: Whether to prevent all others from opening it.
    /// - Throws: ``StoreError`` with `busy` while the store is being rebuilt, or `inUse` if another has it open and must
    ///   not; ``SystemError``.
    package init(in folder: StoreFolder, isAlone: Bool = false) throws {
        try folder.requireOwn(StoreFolder.LockFile.waiters.rawValue)
        locks = try folder.locks(.waiters)
        guard try !locks.tryLock(Self.byte, exclusively: isAlone) else { return }
        throw isAlone
            ? StoreError(
                .inUse, "another process or task has the store at \(folder.path) open",
                advice: "Stop all programs that use it, and try again.")
            : StoreError(
                .busy, "the store at \(folder.path) is being rebuilt by another process", advice: "Try again later.")
    }

    func end() { locks.unlock(Self.byte) }
}
